"""What git says has changed: paths to the files that differ from a revision, those that it does not know included."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HEAD = "HEAD"
# git's name for a tree without files, which a repository without commits differs from.
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def changed_files(paths: Iterable[Path], revision: str, *, cwd: Path) -> frozenset[str]:
    """The absolute real paths of files that changed since `revision` in the repositories of `paths`.

    Since the commit where the work began, that is, which HEAD shares with `revision`: what others have done there
    meanwhile is no change of this branch. Edits that are not committed count, and so do files that are not added yet.
    """
    folders = {_folder(cwd / path) for path in paths}
    tops = {_top(folder) for folder in sorted(folders)}
    return frozenset(path for top in sorted(tops) for path in _changed_in(top, revision))


def _folder(path: Path) -> Path:
    if not path.exists():
        raise DoctorError(f"there is no file or folder {path}", hint="--changed takes a revision, then come paths")
    return path if path.is_dir() else path.parent


def _top(folder: Path) -> Path:
    done = _git(folder, "rev-parse", "--show-toplevel")
    if "dubious ownership" in done.stderr:
        hint = f"git config --global --add safe.directory {folder}"
        raise DoctorError(f"--changed asks git, which does not trust the owner of {folder}", hint=hint)
    if done.returncode or not done.stdout.strip():
        raise DoctorError(
            f"--changed asks git, and {folder} is in no git working tree", hint="leave --changed out, or run `git init`"
        )
    return Path(done.stdout.rstrip("\n"))


def _changed_in(top: Path, revision: str) -> Sequence[str]:
    since = _base(top, revision)
    names = _listed(top, "diff", "--name-only", "-z", "--no-renames", "--diff-filter=d", since, "--")
    names += _listed(top, "ls-files", "--others", "--exclude-standard", "-z")
    return [(top / name).resolve().as_posix() for name in names]


def _base(top: Path, revision: str) -> str:
    """The commit to compare with."""
    found = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    commit = found.stdout.strip()
    if found.returncode:
        if revision == HEAD:
            return EMPTY_TREE
        raise DoctorError(
            f"git knows no revision {revision} in {top}", hint="a shallow clone has few: `git fetch`, or fetch-depth: 0"
        )
    base = _git(top, "merge-base", HEAD, commit)
    return base.stdout.strip() if base.returncode == 0 else commit


def _listed(top: Path, *arguments: str) -> list[str]:
    done = _git(top, *arguments)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise DoctorError(f"git {arguments[0]} failed in {top}: {said}", hint="--changed asks git")
    return [name for name in done.stdout.split("\0") if name]


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ("git", "-C", str(folder), *arguments)
    try:
        return subprocess.run(
            command,
            capture_output=True,
            env={**os.environ, "LC_ALL": "C"},
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except OSError as error:
        raise DoctorError(
            "--changed asks git, which is not there", hint="install git, or leave --changed out"
        ) from error

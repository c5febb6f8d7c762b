"""Asks git which files differ from a revision; files that git does not track count as changed.

A submodule is compared with the commit that the revision records for it. A nested repository that the outer one does
not record is treated as a folder of untracked files.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HEAD = "HEAD"
# The mode of a submodule in a tree (git, Documentation/gitformat-index).
SUBMODULE = "160000"
# Variables that git sets for hooks. They name the hook's repository, which need not be the one queried here (git
# rev-parse --local-env-vars).
OF_A_REPOSITORY = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)
# Keep git from running or writing anything that the repository's own configuration asks for.
QUIETLY = ("--no-optional-locks", "-c", "core.fsmonitor=false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A working tree rooted at `top`.

    `outside` are the variables that locate its repository, if that lies elsewhere.
    """

    top: Path
    outside: tuple[tuple[str, str], ...] = ()


def changed_files(paths: Iterable[Path], revision: str, *, cwd: Path) -> frozenset[str]:
    """Return the absolute real paths of the files that changed since `revision`, in the repositories of `paths`.

    The comparison is with the merge base of HEAD and `revision`: later commits of `revision` are no changes of this
    branch. Uncommitted edits and untracked files count.
    """
    folders = {_folder(cwd / path) for path in paths}
    repositories = {_repository(folder, cwd) for folder in sorted(folders)}
    changed = (
        path
        for repo in sorted(repositories, key=lambda repo: repo.top)
        for path in _changed_in(repo, _base(repo, revision))
    )
    return frozenset(path.resolve().as_posix() for path in changed)


def _folder(path: Path) -> Path:
    if not path.exists():
        raise DoctorError(f"there is no file or folder {path}", hint="--changed takes a revision, then come paths")
    return path if path.is_dir() else path.parent


def _repository(folder: Path, cwd: Path) -> Repository:
    """Return the repository around `folder`, or else the one that the environment names."""
    done = _git(Repository(top=folder), "rev-parse", "--show-toplevel")
    if done.returncode == 0 and done.stdout.strip():
        return Repository(top=Path(done.stdout.rstrip("\n")))
    if "dubious ownership" in done.stderr:
        hint = f"git config --global --add safe.directory {folder}"
        raise DoctorError(f"--changed asks git, which does not trust the owner of {folder}", hint=hint)
    if os.environ.get("GIT_DIR"):
        top = (cwd / os.environ.get("GIT_WORK_TREE", ".")).resolve()
        outside = {"GIT_DIR": str(cwd / os.environ["GIT_DIR"]), "GIT_WORK_TREE": str(top)}
        named = Repository(top=top, outside=tuple(outside.items()))
        if folder.resolve().is_relative_to(top) and _git(named, "rev-parse", "--show-toplevel").returncode == 0:
            return named
    raise DoctorError(
        f"--changed asks git, and {folder} is in no git working tree", hint="leave --changed out, or run `git init`"
    )


def listed_files(repository: Repository) -> Iterator[Path]:
    """Yield the files that git tracks or would track, in submodules too. Raises DoctorError if git fails."""
    return _changed_in(repository, None)


def _changed_in(repository: Repository, since: str | None) -> Iterator[Path]:
    """Yield the files that differ from the tree `since`; all files if it is None."""
    top = repository.top
    if since is None:
        names = _listed(repository, "ls-files", "--cached", "-z")
    else:
        names = _listed(repository, "diff", "--name-only", "-z", "--no-renames", "--diff-filter=d", since, "--")
    yield from (top / name for name in names)
    for name in _listed(repository, "ls-files", "--others", "--exclude-standard", "-z"):
        if name.endswith("/"):
            yield from _changed_in(Repository(top=top / name), None)
        else:
            yield top / name
    for name in _submodules(repository):
        submodule = Repository(top=top / name)
        if (submodule.top / ".git").exists():
            yield from _changed_in(submodule, _commit_of(repository, since, name, submodule))


def _submodules(repository: Repository) -> list[str]:
    staged = (entry.partition("\t") for entry in _listed(repository, "ls-files", "--stage", "-z"))
    return [name for facts, _, name in staged if facts.startswith(SUBMODULE)]


def _commit_of(repository: Repository, since: str | None, name: str, submodule: Repository) -> str | None:
    """Return the commit of `submodule` in the tree `since`; None if there is none or it is not available."""
    if since is None:
        return None
    commit = _git(repository, "rev-parse", "--verify", "--quiet", f"{since}:{name}").stdout.strip()
    held = commit and _git(submodule, "cat-file", "-e", f"{commit}^{{commit}}").returncode == 0
    return commit if held else None


def _base(repository: Repository, revision: str) -> str:
    """Return the commit to compare with."""
    found = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    commit = found.stdout.strip()
    if found.returncode:
        if revision == HEAD:
            # Without commits, compare with the empty tree. Its name depends on the hash algorithm.
            return _listed(repository, "hash-object", "-t", "tree", "--stdin")[0].strip()
        raise DoctorError(
            f"git knows no revision {revision} in {repository.top}",
            hint="a shallow clone has few: `git fetch`, or fetch-depth: 0",
        )
    base = _git(repository, "merge-base", HEAD, commit)
    return base.stdout.strip() if base.returncode == 0 else commit


def _listed(repository: Repository, *arguments: str) -> list[str]:
    done = _git(repository, *arguments)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise DoctorError(f"git {arguments[0]} failed in {repository.top}: {reason}", hint="--changed asks git")
    return [name for name in done.stdout.split("\0") if name]


def _git(repository: Repository, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ("git", *QUIETLY, "-C", str(repository.top), *arguments)
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=_environment(os.environ, repository),
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except OSError as error:
        raise DoctorError(
            "--changed asks git, which is not there", hint="install git, or leave --changed out"
        ) from error


def _environment(environment: Mapping[str, str], repository: Repository) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if name not in OF_A_REPOSITORY}
    return {**kept, **dict(repository.outside), "LC_ALL": "C"}

"""Paths to the files worth reading: what the user names, minus what is ignored."""

from __future__ import annotations

import logging
import os
import re
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.regular_files import read_regular_file
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.sources.ignore_rules import IgnoreRules, compile_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.settings import Settings

# Matched against the file's name, in this order; the first match counts.
_KINDS = (
    (re.compile(r"(?i:(?:.*\.)?(?:docker|container)file(?:[.\-_](?!dockerignore$).*)?)"), "dockerfile"),
    (re.compile(r".*\.ya?ml(?:\.(?:j2|jinja2?|tpl|tmpl))?", re.IGNORECASE), "yaml"),
    (re.compile(r"(?:.*\.)?env(?:\..*)?|.*\.env|\.flaskenv"), "dotenv"),
    (re.compile(r".*\.(?:sh|bash|zsh|ksh|csh|tcsh|fish|sbatch|slurm|pbs|lsf|job|command|envrc)|\.envrc"
                r"|\.?(?:bash|zsh)(?:rc|_profile|env)|\.profile"), "shell"),
    (re.compile(r".*\.toml"), "toml"),
    (re.compile(r".*\.(?:ps[md]?1|bat|cmd|ini|cfg|mk|mak|make|just|jenkinsfile|groovy)|(?:Proc|Jenkins|\.?just)file.*"
                r"|(?:GNU)?makefile(?:\..*)?|.*\.(?:service|conf)(?:\.(?:j2|jinja2?|in|tpl|tmpl))?"
                r"|\.?(?:devcontainer|launch|tasks|settings|kernel|runtime[_-]env)\.json", re.IGNORECASE), "unparsed"),
)  # fmt: skip

_LOG = logging.getLogger(__name__)

# Folders that never hold the user's own source. One that is named by the user is read all the same.
EXCLUDED = frozenset(
    {
        *(".git", ".hg", ".svn", ".bzr", ".venv", "venv", ".tox", ".nox", ".eggs", ".direnv", ".pixi"),
        *("node_modules", "__pycache__", "__pypackages__", "site-packages", "build", "dist", "_build", "buck-out"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"),
    }
)


class FileKind(Enum):
    """The kind of a file, which decides what reads it."""

    PYTHON = "python"
    SETTINGS = "settings"


class SourceFile(NamedTuple):
    """A file to read.

    `name` is its absolute path, `shown` the path in findings. `text` replaces the content on disk, as for an unsaved
    editor buffer.
    """

    name: str
    shown: str
    kind: FileKind
    text: bytes | None = None

    @property
    def path(self) -> Path:
        """The absolute path as a Path; made on demand, since most files never need one."""
        return Path(self.name)


def find_files(
    paths: Iterable[Path], settings: Settings, *, cwd: Path, base: Path | None = None, is_deep: bool = True
) -> Iterator[SourceFile]:
    """Yield the files at and below `paths`, each once, folder by folder in order of names; shown relative to `base`.

    A file named by the user is always read and a folder named by the user always entered; folders below it only if
    `is_deep`. Links to folders are not followed. Raises DoctorError for a path that does not exist.
    """
    seen, below = set[str](), f"{(base or cwd).as_posix().rstrip('/')}/"
    exclude = compile_rules(settings.root, settings.exclude)
    for path in paths:
        absolute = Path(os.path.abspath(cwd / path))  # noqa: PTH100, a link keeps the name that it was given by
        if os.path.isdir(absolute):  # noqa: PTH112, a path that is too long is False, where Path raises
            found = walk(absolute, enclosing_rules(absolute), exclude, is_deep=is_deep)
        elif os.path.exists(absolute):  # noqa: PTH110, likewise
            found = iter([(absolute.as_posix(), kind_of(absolute.name) or FileKind.PYTHON)])
        else:
            hint = f"the working directory is {cwd}"
            raise DoctorError(f"there is no file or folder {path}", hint=hint)
        for name, kind in found:
            if name not in seen:
                seen.add(name)
                yield SourceFile(name, name.removeprefix(below), kind)


def kind_of(name: str) -> FileKind | None:
    """Return the kind of a file called `name`; None for one that nothing reads."""
    if name.endswith((".py", ".ipynb")):
        return FileKind.PYTHON
    return FileKind.SETTINGS if settings_kind(name) else None


def shown_path(path: str, cwd: Path) -> str:
    """Return the absolute posix `path` as findings spell it: relative to `cwd` if it lies below it."""
    return path.removeprefix(f"{cwd.as_posix().rstrip('/')}/")


def walk(
    folder: Path, above: Sequence[IgnoreRules], exclude: IgnoreRules | None, *, is_deep: bool = True
) -> Iterator[tuple[str, FileKind]]:
    """Yield the absolute posix path and the kind of each file below `folder` that is not ignored.

    `above` are the .gitignore rules of the enclosing folders, innermost first. Rules that ignore `folder` itself are
    dropped, because the user named it.
    """
    top = folder.as_posix().rstrip("/")
    if exclude and exclude.verdict(f"{top}/"):
        exclude = None
    pending = [(top, [rule for rule in above if not rule.verdict(f"{top}/")])]
    while pending:
        at, rules = pending.pop()
        try:
            entries = sorted(os.scandir(at or "/"), key=lambda entry: entry.name)
        except OSError:
            continue
        if any(entry.name == ".gitignore" for entry in entries) and (own := read_gitignore(Path(at or "/"))):
            rules = [own, *rules]
        inner = []
        for entry in entries:
            name = f"{at}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if is_deep and entry.name not in EXCLUDED and not is_ignored(f"{name}/", rules, exclude):
                    inner.append((name, rules))
            elif (kind := kind_of(entry.name)) and is_file(entry) and not is_ignored(name, rules, exclude):
                yield name, kind
        pending.extend(reversed(inner))


def is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether `entry` is a file or a link to one.

    A link to itself raises OSError; other broken links are False.
    """
    try:
        return entry.is_file()
    except OSError:
        return False


def is_ignored(path: str, rules: Sequence[IgnoreRules], exclude: IgnoreRules | None) -> bool:
    """Return whether `exclude` matches `path`, or the first of `rules` that decides about it ignores it."""
    if exclude and exclude.verdict(path):
        return True
    return next((verdict for rule in rules if (verdict := rule.verdict(path)) is not None), False)


def enclosing_rules(folder: Path) -> list[IgnoreRules]:
    """Return the .gitignore rules of the folders above `folder`, innermost first, up to the root of its repository."""
    above = list(folder.parents)
    depth = next((depth for depth, parent in enumerate(above) if (parent / ".git").exists()), None)
    if depth is None or (folder / ".git").exists():
        return []
    return [rule for parent in above[: depth + 1] if (rule := read_gitignore(parent))]


def read_gitignore(folder: Path) -> IgnoreRules | None:
    """Return the rules of the .gitignore in `folder`.

    None if there is none, or (with a warning) if it is unreadable.
    """
    try:
        text = read_regular_file(folder / ".gitignore").decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        _warn_unread(folder / ".gitignore", reason_of(error))
        return None
    return compile_rules(folder, text.splitlines())


@cached_in_scan()
def _warn_unread(gitignore: Path, reason: str) -> None:
    """Log the warning once, although both the named paths and their project are walked."""
    _LOG.warning("triton-doctor: %s is not read, so nothing is left out by it: %s", gitignore, reason)


def settings_kind(path: str) -> str | None:
    """Return which kind of settings file `path` names; None for any other file, Python included."""
    name = path.rpartition("/")[2]
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(name)), None)

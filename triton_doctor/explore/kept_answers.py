"""Answers of children of earlier sweeps, kept in the user's cache folder while what they rest on is the same.

An answer rests on what the child was asked, on the content of the files of the project that it opened, also those that
were not there, on the packages that are installed, and on this program.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import triton_doctor
from triton_doctor.static.project.cache.store import cache_folder
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from triton_doctor.explore.child.answer import Answer

FOLDER = "sweeps"
MOST_RESULTS = 5_000


class KeptResult(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, the digests of the files that it rests on, by their paths in the project, and modules not found."""

    value: msgspec.Raw
    files: dict[str, str]
    missing: tuple[str, ...]


class Results:
    """The answers about one copy of a project, in `root`, with its import roots. Nothing is kept without a folder."""

    def __init__(self, root: str, import_roots: tuple[str, ...], folder: Path | None) -> None:
        """Keep answers in `folder`, None for nowhere."""
        self._root = root
        self._import_roots = import_roots
        self._folder = folder
        self._digests: dict[str, str] = {}

    def find(self, question: object) -> msgspec.Raw | None:
        """Return the answer of an earlier sweep to `question`, if all that it rests on is the same."""
        if self._folder is None:
            return None
        path = self._folder / _name(question)
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=KeptResult)
        except (OSError, msgspec.DecodeError):
            return None
        if any(self._digest(file) != digest for file, digest in kept.files.items()):
            return None
        # What was missing, and is found now, in the project or installed.
        if any(map(self._is_there, kept.missing)):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return kept.value

    def keep(self, question: object, answer: Answer, missing: tuple[str, ...] = ()) -> None:
        """Keep `answer`, for which the modules `missing` were not found. A full disk is no failure."""
        if self._folder is None:
            return
        files = {file: self._digest(file) for file in answer.files}
        kept = KeptResult(value=answer.value, files=files, missing=missing)
        path = self._folder / _name(question)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(msgspec.json.encode(kept))
            fresh.replace(path)

    def prune(self) -> None:
        """Remove all but the most recently used results."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            files = sorted(self._folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
            for file in files[MOST_RESULTS:]:
                file.unlink(missing_ok=True)

    def _digest(self, file: str) -> str:
        """Return the digest of a file of the project; an empty text where there is none."""
        # The names come from the child: they may lead anywhere, to a pipe for example.
        if file.startswith("/") or ".." in file.split("/"):
            return ""
        if file not in self._digests:
            try:
                self._digests[file] = hashlib.sha256(Path(self._root, file).read_bytes()).hexdigest()
            except (OSError, ValueError):
                self._digests[file] = ""
        return self._digests[file]

    def _is_there(self, name: str) -> bool:
        top = name.partition(".")[0]
        places = [Path(self._root, folder, top) for folder in self._import_roots]
        if any(place.is_dir() or place.with_suffix(".py").exists() for place in places):
            return True
        with contextlib.suppress(ImportError, ValueError):
            return importlib.util.find_spec(top) is not None
        return False


def results_folder() -> Path | None:
    """Return where results are kept, if the user has a home folder."""
    folder = cache_folder()
    return None if folder is None else folder / FOLDER


def forget_results() -> int:
    """Remove all results. Return how many there were. Raises OSError."""
    folder = results_folder()
    if folder is None or not folder.exists():
        return 0
    count = sum(1 for _ in folder.iterdir())
    shutil.rmtree(folder)
    return count


def _name(question: object) -> str:
    text = msgspec.json.encode([question, _program(), _packages()])
    return f"{hashlib.sha256(text).hexdigest()}.json"


@cache
def _program() -> str:
    """Return a digest of the parts of this program that make outcomes; they change between versions in a checkout."""
    digest = hashlib.sha256(f"{__version__} {sys.version}".encode())
    folder = Path(triton_doctor.__file__).parent
    for part in ("explore", "runtime"):
        for file in sorted(folder.joinpath(part).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def _packages() -> tuple[str, ...]:
    """Return the installed packages with their versions, as the folders beside them are called."""
    suffixes = (".dist-info", ".egg-info")
    names = set[str]()
    for folder in sys.path:
        with contextlib.suppress(OSError):
            names.update(path.name for path in Path(folder or ".").iterdir() if path.name.endswith(suffixes))
    return tuple(sorted(names))

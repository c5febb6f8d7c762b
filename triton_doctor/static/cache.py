"""Memory in a folder of the project that ignores itself in git: written whole or not at all, believed only if whole."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor import finding, plan
from triton_doctor.static import directives, library, memory, prefilter, rests, texts
from triton_doctor.static.memory import NO_MEMORY, Memory
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.settings import Settings

FOLDER = ".triton_doctor_cache"
# One file for each way of asking: `check src/`, `check . --select TRD2`.
_MOST_FILES = 16
_DIGEST_BYTES = 16
# The only classes that a cache may name: whoever gives away a repository also gives away what stands in this folder.
_CLASSES: dict[tuple[str, str], type] = {
    (one.__module__, one.__name__): one
    for one in (
        *(one for one in (*vars(finding).values(), *vars(plan).values()) if isinstance(one, type)),
        *(memory.Memory, memory.Outcome, memory.Share, memory.Answer, rests.Rests, rests.Search),
        *(rests.Question, rests.Reply),
        *(texts.Seen, library.Known, prefilter.Role, directives.Directive, directives.Word),
    )
    if one.__module__.startswith("triton_doctor.")
}


class Cache:
    """The memory of scans of `asked` paths in `cwd`, as `settings` see them."""

    def __init__(self, cwd: Path, asked: Iterable[str], settings: Settings) -> None:
        """Nothing is read or written yet."""
        chosen = (settings.root, settings.select, settings.ignore, settings.tests, settings.triton_version)
        key = repr((_tool(), sys.version_info[:2], str(cwd), *asked, *chosen, settings.fixed, settings.per_call))
        self._folder = cwd / FOLDER
        self._file = self._folder / f"{_digest(key.encode()).hex()}.scan"

    def read(self) -> Memory:
        """What the last such scan left; nothing where there was none, or it cannot be read, or is damaged."""
        try:
            data = self._file.read_bytes()
        except OSError:
            return NO_MEMORY
        said, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if said != _digest(content):
            return NO_MEMORY
        try:
            kept = _Unpickler(io.BytesIO(content)).load()
        except (pickle.UnpicklingError, ValueError, TypeError, AttributeError, EOFError, IndexError, KeyError):
            return NO_MEMORY
        return kept if isinstance(kept, Memory) else NO_MEMORY

    def write(self, kept: Memory) -> None:
        """Leave `kept` for the next such scan. Where that cannot be, on a full disk say, nothing is left."""
        content = pickle.dumps(kept, protocol=5)
        new = self._file.with_suffix(f".{os.getpid()}")
        try:
            self._make_folder()
            new.write_bytes(_digest(content) + content)
            new.replace(self._file)
            self._prune()
        except OSError:
            with contextlib.suppress(OSError):
                new.unlink()

    def _make_folder(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir()
            (self._folder / ".gitignore").write_text("*\n")
            (self._folder / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")

    def _prune(self) -> None:
        files = sorted(self._folder.glob("*.scan"), key=lambda file: file.stat().st_mtime_ns)
        for file in files[:-_MOST_FILES]:
            file.unlink(missing_ok=True)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _CLASSES[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"a cache names no {module}.{name}") from None


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES).digest()


def _tool() -> tuple[object, ...]:
    """What the tool is: its version, and, where it is being worked on, the state of its files."""
    package = Path(__file__).parent.parent
    files = sorted(package.rglob("*.py"))
    return (__version__, *((status.st_size, status.st_mtime_ns) for status in map(os.stat, files)))

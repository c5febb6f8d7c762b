"""Files of a cache entry to what is wrong with them: empty, cut, or a launcher whose libraries are gone.

Triton reads what it finds: an empty binary or a launcher that cannot be loaded fails, or gives wrong results, until the
entry is removed. Libraries are not loaded here and no program is run: their ELF headers say enough.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.machine.cache_entries import GROUP, SUFFIX
from triton_doctor.regular_files import read_regular_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_BYTES = 256 << 20
_ELF64 = b"\x7fELF\x02\x01"
_BINARIES = frozenset({".cubin", ".hsaco", ".so"})
_LOADED, _DYNAMIC = 1, 2
_NEEDED, _STRINGS, _RPATH, _RUNPATH = 1, 5, 15, 29
_LOADER_CACHE = Path("/etc/ld.so.cache")
_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib/{0}", "/usr/lib/{0}")
# Libraries of a driver: TRD623 tells whether they are found.
_OF_DRIVERS = ("libcuda.so", "libamdhip64.so")


def describe_damage(folder: Path, *, loader_cache: Path = _LOADER_CACHE) -> str | None:
    """Return what is wrong with the files of the cache entry `folder`; None if nothing is, as far as they tell.

    Raises OSError if they vanish meanwhile.
    """
    names = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name != "lock")
    for name in names:
        path = folder / name
        if not path.stat().st_size:
            return f"{name} is empty"
        if name.endswith(SUFFIX):
            try:
                content = json.loads(read_regular_file(path, _MOST_BYTES))
            except (ValueError, RecursionError):
                return f"{name} is cut or damaged"
            children = content.get("child_paths") if name.startswith(GROUP) and isinstance(content, dict) else None
            if name.startswith(GROUP) and not isinstance(children, dict):
                return f"{name} is damaged: it names no files"
        elif path.suffix in _BINARIES:
            data = read_regular_file(path, _MOST_BYTES)
            if (data.startswith(_ELF64) and _is_cut(data)) or b"\x7fELF".startswith(data):
                return f"{name} is cut: it has {len(data):,} bytes, and more belong to it"
            missing = _missing_libraries(data, loader_cache) if path.suffix == ".so" else []
            if missing:
                return f"{name} needs {', '.join(missing)}, which the loader does not find here"
    return None


def _is_cut(data: bytes) -> bool:
    """Return whether the ELF file `data` ends before its last header does."""
    if len(data) < 64:
        return True
    (program_at,), (section_at,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<Q", data, 40)
    program_size, programs, section_size, sections = struct.unpack_from("<4H", data, 54)
    ends = (program_at + program_size * programs, section_at + section_size * sections)
    return bool(max(ends) > len(data))


def _missing_libraries(data: bytes, loader_cache: Path) -> list[str]:
    """Return the libraries that the ELF file `data` needs and that are in no folder where the loader looks."""
    if not data.startswith(_ELF64):
        return []
    needed, folders = [], list(os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    for tag, text in _dynamic_texts(data):
        if tag == _NEEDED:
            needed.append(text)
        else:
            folders += text.split(":")
    try:
        known = read_regular_file(loader_cache, _MOST_BYTES)
    except OSError:
        known = b""
    machine = os.uname().machine if hasattr(os, "uname") else ""
    folders += [folder.format(f"{machine}-linux-gnu") for folder in _FOLDERS]
    return [
        name
        for name in needed
        if not name.startswith(_OF_DRIVERS)
        and f"\0{name}\0".encode() not in known
        and not any(folder and (Path(folder) / name).exists() for folder in folders if "$" not in folder)
        and not any("$" in folder for folder in folders)
    ]


def _dynamic_texts(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield the needed libraries and the search folders of the ELF file `data`; nothing if its tables are damaged."""
    (at,), (size, count) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<2H", data, 54)
    try:
        headers = [struct.unpack_from("<IIQQQQ", data, at + size * number) for number in range(count)]
        loaded = [(address, offset, length) for kind, _, offset, address, _, length in headers if kind == _LOADED]
        entries = [
            struct.unpack_from("<qQ", data, offset + 16 * number)
            for kind, _, offset, _, _, length in headers
            if kind == _DYNAMIC
            for number in range(length // 16)
        ]
        strings = next((value for tag, value in entries if tag == _STRINGS), 0)
        base = next(offset + strings - start for start, offset, length in loaded if start <= strings < start + length)
        for tag, value in entries:
            if tag in (_NEEDED, _RPATH, _RUNPATH):
                yield tag, data[base + value : data.index(b"\0", base + value)].decode("utf-8", "replace")
    except (struct.error, ValueError, StopIteration):
        return

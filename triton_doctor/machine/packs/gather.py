"""A cache folder to what a pack of it holds: the entries that Triton can use, each with the files worth moving."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from triton_doctor.cache_placement import JSON_BYTES, is_file_name
from triton_doctor.kernel_names import function_name, is_generic
from triton_doctor.machine.cache_entries import GROUP, SUFFIX, read_entries
from triton_doctor.machine.packs.compiled_functions import find_functions
from triton_doctor.machine.packs.manifest import (
    FILE_BYTES,
    KERNEL,
    LAUNCHER,
    TUNING,
    Manifest,
    PackedEntry,
    PackedFile,
)
from triton_doctor.regular_files import read_regular_file
from triton_doctor.variables import variables
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from triton_doctor.machine.cache_entries import CacheEntry
    from triton_doctor.machine.packs.manifest import KeyParts

# What Triton reads of a kernel that it finds: binary and metadata (triton 3.2 to 3.9 compiler.py, CompiledKernel). What
# else a compile left is for people, or for programs that ask a kernel for its `asm`.
INTERMEDIATE = {
    ".cubin": frozenset({".source", ".ttir", ".ttgir", ".llir", ".ptx"}),
    ".hsaco": frozenset({".source", ".ttir", ".ttgir", ".llir", ".amdgcn"}),
}
MODULE = re.compile(r"(?:__triton_launcher|cuda_utils|hip_utils)(?:\..+)?\.(?:so|pyd)")
TUNED = ".autotune.json"
CODE_SUFFIXES = (".source", ".ttir")


@dataclass(slots=True, kw_only=True)
class GatheredEntries:
    """`manifest` with the entries of `folder`, ordered by key; `left_out` counts what is not among them, by reason.

    `whole_bytes` is what their files take in the cache, intermediate code included.
    """

    folder: Path
    manifest: Manifest
    left_out: Counter[str] = field(default_factory=Counter)
    whole_bytes: int = 0

    def read(self, entry: PackedEntry, file: PackedFile) -> bytes:
        """Return the content of a file. Raises OSError if it is gone, or if its size has changed."""
        data = read_regular_file(self.folder / entry.key / file.name, FILE_BYTES)
        if len(data) != file.size:
            raise OSError(f"{entry.key}/{file.name} was changed meanwhile")
        return data


def gather(
    folder: Path, parts: KeyParts, *, wanted: Callable[[PackedEntry], bool] = lambda _: True, with_code: bool = False
) -> GatheredEntries:
    """Collect the entries of the cache `folder` that a pack of it should hold: those that are `wanted`.

    `parts` describes the installation. `with_code` keeps the intermediate code too. Files are read from `folder`
    itself, even if a group file names another place.
    """
    left_out: Counter[str] = Counter()
    entries, whole = [], 0
    for found in sorted(read_entries(folder), key=lambda entry: entry.key):
        try:
            entry = read_packed(folder, found, with_code=with_code)
        except (OSError, ValueError, RecursionError):
            left_out["damaged"] += 1
            continue
        if entry is None:
            left_out["unfinished, or not written by Triton"] += 1
        elif not wanted(entry):
            left_out["not selected"] += 1
        else:
            entries.append(entry)
            whole += found.size_bytes
    manifest = Manifest(tool_version=__version__, parts=parts, entries=tuple(entries))
    return GatheredEntries(folder=folder, manifest=manifest, left_out=left_out, whole_bytes=whole)


def read_packed(folder: Path, found: CacheEntry, *, with_code: bool) -> PackedEntry | None:
    """Convert the entry `found` of the cache `folder` to a PackedEntry; None if Triton cannot use it.

    Raises OSError or ValueError if its files cannot be read or are damaged.
    """
    if found.kernel is None:
        return read_module(folder, found)
    kernel = found.stem
    path = folder / found.key
    group = json.loads(read_regular_file(path / f"{GROUP}{kernel}{SUFFIX}", JSON_BYTES))
    metadata = json.loads(read_regular_file(path / f"{kernel}{SUFFIX}", JSON_BYTES))
    names = sorted(group["child_paths"]) if isinstance(group, dict) and isinstance(metadata, dict) else []
    suffixes = {suffix_of(name) for name in names}
    binary = next((suffix for suffix in INTERMEDIATE if suffix in suffixes), None)
    dropped = INTERMEDIATE[binary] if binary and not with_code else frozenset()
    kept = [name for name in names if suffix_of(name) not in dropped]
    if not all(is_file_name(name) for name in names) or f"{kernel}{SUFFIX}" not in kept or len(kept) < 2:
        return None
    version = metadata.get("triton_version")
    return PackedEntry(
        key=found.key,
        kind=KERNEL,
        kernel=kernel,
        target=found.target,
        triton=version if isinstance(version, str) else None,
        variables=dict(sorted(read_own_variables(metadata))),
        functions=find_functions(kernel, read_code(path, kernel), found.written_at),
        files=tuple(PackedFile(name=name, size=(path / name).stat().st_size) for name in kept),
    )


def suffix_of(name: str) -> str:
    """Return the last suffix of `name`: `.cubin` of `add.cubin`."""
    return name[name.rfind(".") :]


def read_own_variables(metadata: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the environment variables that entered the key of a kernel, from its metadata."""
    for name, value in metadata.items():
        if name.isupper() and name in variables() and isinstance(value, str):
            yield name, value


def read_code(path: Path, kernel: str) -> str:
    """Return the intermediate code of `kernel`, which names its source; empty if the cache keeps none."""
    for suffix in CODE_SUFFIXES:
        try:
            return read_regular_file(path / f"{kernel}{suffix}").decode("utf-8", "replace")
        except OSError:
            continue
    return ""


def read_module(folder: Path, found: CacheEntry) -> PackedEntry | None:
    """Convert an entry that holds a launcher or a tuning result; None for anything else."""
    files = sorted(path for path in (folder / found.key).iterdir() if path.is_file() and not path.is_symlink())
    modules = [path for path in files if MODULE.fullmatch(path.name)]
    tunings = [path for path in files if path.name.endswith(TUNED)]
    kept = modules or tunings[:1]
    if not kept or not found.is_tritons:
        return None
    return PackedEntry(
        key=found.key,
        kind=LAUNCHER if modules else TUNING,
        kernel=None if modules else kept[0].name.removesuffix(TUNED),
        files=tuple(PackedFile(name=path.name, size=path.stat().st_size) for path in kept),
    )


def match_kernel(entry: PackedEntry, pattern: str) -> bool:
    """Return whether the kernel of `entry` matches `pattern`. Launchers match any, as all kernels use them."""
    if entry.kernel is None or fnmatchcase(entry.kernel, pattern):
        return True
    # `Pack.kernel` names every `kernel` here: a pack does not keep what encloses a function.
    return is_generic(entry.kernel) and entry.kernel == function_name(pattern)

"""Compiles that a pack should have saved: why each was not found in it, to text and JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.kernel_names import function_name
from triton_doctor.machine.cache_entries import name_entries
from triton_doctor.machine.cache_folder import locate_cache
from triton_doctor.machine.packs.differences import compare_installations, compare_lines
from triton_doctor.machine.packs.install import read_kept_manifests
from triton_doctor.machine.packs.key_parts import read_variables
from triton_doctor.machine.packs.manifest import KERNEL, KeyParts
from triton_doctor.phrases import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.machine.packs.differences import KeyDifference
    from triton_doctor.machine.packs.manifest import Manifest, PackedEntry
    from triton_doctor.runtime.event import CompileEvent, Header
    from triton_doctor.runtime.recording import Recording

IN_RUN = "in the run"
PACK = "TRITON_DOCTOR_PACK"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnservedCompile:
    """Compiles of one kernel that the pack `pack` did not save, all for the same `reason`."""

    pack: str
    kernel: str
    reason: str
    compiles: int
    compile_us: int


def explain_unserved(recordings: Iterable[Recording], packs: Sequence[Path]) -> tuple[UnservedCompile, ...]:
    """Explain why the compiles of `recordings` were not found in `packs`, the longest first.

    Without `packs`, the packs are those that the processes read from, or had unpacked in their cache folder, if they
    still exist. Kernels that no pack has are left out. Raises DoctorError if one of `packs` is not a pack.
    """
    named = [(str(path), read_manifest(path)) for path in packs]
    compiles: Counter[tuple[str, str, str]] = Counter()
    times: Counter[tuple[str, str, str]] = Counter()
    for recording in recordings:
        for header in recording.headers[:1]:
            manifests = named or list(find_manifests(dict(header.variables)))
            for event in recording.compiled if not header.dry else ():
                for name, manifest in manifests:
                    if reason := find_reason(event, header, manifest):
                        compiles[name, event.kernel.name, reason] += 1
                        times[name, event.kernel.name, reason] += event.duration_us
                        break
    return tuple(
        UnservedCompile(pack=found[0], kernel=found[1], reason=found[2], compiles=count, compile_us=times[found])
        for found, count in sorted(compiles.items(), key=lambda item: (-times[item[0]], item[0]))
    )


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the pack at `path`. Raises DoctorError if it is not a pack."""
    from triton_doctor.machine.packs.pack import open_pack  # zstandard, for one report of many

    with open_pack(path) as (manifest, _):
        return manifest


def find_manifests(variables: Mapping[str, str]) -> Iterator[tuple[str, Manifest]]:
    """Yield name and manifest of the packs that a process with `variables` used, if they exist here."""
    try:
        if variables.get(PACK):
            yield variables[PACK], read_manifest(Path(variables[PACK]))
    except DoctorError:
        pass
    try:
        folder = locate_cache(variables).path if "TRITON_CACHE_DIR" in variables else None
    except DoctorError:
        folder = None
    for manifest in read_kept_manifests(folder) if folder else ():
        yield f"the pack that was unpacked into {folder}", manifest


def find_reason(event: CompileEvent, header: Header, manifest: Manifest) -> str | None:
    """Return why the variant of `event` was compiled although `manifest` has its kernel; None if it has not."""
    names = name_entries(event.entry)
    if any(entry.key in names for entry in manifest.entries):
        return "the pack has this variant: it was not where the process looked when it started"
    packed = [entry for entry in manifest.of_kind(KERNEL) if entry.kernel == function_name(event.kernel.name)]
    if not packed:
        return None
    here = read_parts(event, header)
    common: dict[KeyDifference, None] | None = None
    for entry in packed:
        found = dict.fromkeys(compare_variant(event, entry, manifest.parts, here))
        common = found if common is None else {difference: None for difference in common if difference in found}
    if common:
        return next(iter(common)).message
    return f"a variant that the pack lacks: it has {len(packed):,} other{'s' if len(packed) > 1 else ''} of the kernel"


def compare_variant(
    event: CompileEvent, entry: PackedEntry, packed: KeyParts, here: KeyParts
) -> Iterator[KeyDifference]:
    """Yield each part of the key of `entry` that differed in the run."""
    yield from compare_installations(entry, packed, here, IN_RUN)
    for function in entry.functions[:1]:
        if Path(event.kernel.path).as_posix().endswith(function.module_path) and event.kernel.line:
            yield from compare_lines(function, event.kernel.line, function.definition, IN_RUN)


def read_parts(event: CompileEvent, header: Header) -> KeyParts:
    """Return the key parts that a recording knows."""
    versions, triton = dict(header.versions), dict(header.versions).get("triton")
    return KeyParts(
        triton=triton,
        libtriton=None,
        frontend=None,
        python=".".join(versions.get("python", "").split(".")[:2]),
        abi="",
        platform="",
        targets=(event.key.target,) if event.key.target else (),
        variables=read_variables(dict(header.variables), triton),
    )


def describe_unserved(unserved: Sequence[UnservedCompile]) -> Iterator[str]:
    """Yield a line for each pack, and below it one for each kernel and reason."""
    for pack in dict.fromkeys(compiled.pack for compiled in unserved):
        yield pack
        for compiled in unserved:
            if compiled.pack == pack:
                took = f"{plural(compiled.compiles, 'compile')}, {compiled.compile_us / 1e6:.3f} s"
                yield f"  {compiled.kernel}: {took}: {compiled.reason}"


def unserved_object(compiled: UnservedCompile) -> dict[str, Any]:
    """Convert `compiled` to values for JSON."""
    return {
        "pack": compiled.pack,
        "kernel": compiled.kernel,
        "reason": compiled.reason,
        "compiles": compiled.compiles,
        "compile_ms": compiled.compile_us / 1000,
    }

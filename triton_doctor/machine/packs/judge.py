"""A pack or a cache folder to Judgement: which of its kernels Triton would not find here, and why."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.cache_entries import JSON_BYTES
from triton_doctor.machine.cache_damage import describe_damage
from triton_doctor.machine.cache_entries import GROUP, SUFFIX
from triton_doctor.machine.packs.differences import KeyDifference, compare_entry, group_misses, is_compared
from triton_doctor.machine.packs.gather import gather, match_kernel
from triton_doctor.machine.packs.install import read_kept_manifests
from triton_doctor.machine.packs.manifest import KERNEL, KeyParts
from triton_doctor.machine.packs.pack import open_pack
from triton_doctor.machine.probe_cache import MOUNTS, find_file_system, find_problem
from triton_doctor.regular_files import read_regular_file
from triton_doctor.variables import Version, parse_version, variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from triton_doctor.machine.packs.differences import Miss
    from triton_doctor.machine.packs.manifest import PackedEntry

UNKNOWN = KeyParts(triton=None, libtriton=None, frontend=None, python="", abi="", platform="")
ALWAYS_COMPILE = "TRITON_ALWAYS_COMPILE"
# A group must be whole (triton 3.9 cache.py, get_group); until 3.6 what is gone is left out.
WHOLE_GROUPS_SINCE = Version(3, 9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The kernels of `subject`. `misses` are the reasons for those that would not be found; `notes` what else to know.

    `unread` counts the other kernels whose source could not be compared.
    """

    subject: str
    kernels: tuple[PackedEntry, ...]
    misses: tuple[Miss, ...]
    notes: tuple[str, ...] = ()
    unread: int = 0

    @property
    def missed(self) -> int:
        """How many kernels would not be found."""
        return len({entry.key for miss in self.misses for entry in miss.entries})


def judge_pack(path: Path, pattern: str, here: KeyParts, environment: Mapping[str, str]) -> Judgement:
    """The kernels of the pack at `path` whose name matches `pattern`. Raises DoctorError where it is none."""
    with open_pack(path) as (manifest, _):
        entries = [entry for entry in manifest.of_kind(KERNEL) if match_kernel(entry, (pattern,))]
    pairs = [(entry, manifest.parts) for entry in entries]
    return judge(str(path), pairs, compare_all(pairs, here, environment))


def judge_folder(folder: Path, pattern: str, here: KeyParts, environment: Mapping[str, str]) -> Judgement:
    """The kernels of the cache at `folder` whose name matches `pattern`.

    What was unpacked there has its manifest; of what was compiled there the cache itself tells most.
    """
    known = {
        entry.key: (entry, manifest.parts) for manifest in read_kept_manifests(folder) for entry in manifest.entries
    }
    gathered = gather(folder, UNKNOWN, wanted=lambda entry: match_kernel(entry, (pattern,)))
    pairs = [known.get(entry.key, (entry, UNKNOWN)) for entry in gathered.manifest.of_kind(KERNEL)]
    differing = list(compare_all(pairs, here, environment))
    elsewhere: set[str] = set()
    for entry, _ in pairs:
        children = read_children(folder, entry)
        differing += [(entry, difference) for difference in compare_group(folder, entry, children, here)]
        if problem := read_damage(folder / entry.key):
            differing.append((entry, KeyDifference(part="damaged", message=problem)))
        elsewhere |= {path[: -len(entry.key) - len(name) - 2] for name, path in find_elsewhere(folder, entry, children)}
    notes = [f"reads kernels from {path}, where they were compiled: remove that, and they miss" for path in elsewhere]
    if problem := find_problem(folder):
        notes.append(
            f"{problem}: Triton fails where it lacks a kernel, and with triton_doctor.cache_manager compiles it"
        )
    notes += [f"{path.name}: {problem}: each launch that needs it fails" for path, problem in damaged_modules(folder)]
    if not find_file_system(folder, MOUNTS).runs_programs:
        notes.append(
            f"{folder} is on a file system that is mounted noexec: Triton cannot load its launchers from there"
        )
    if damaged := gathered.left_out["damaged"] + gathered.left_out["unfinished, or not written by Triton"]:
        notes.append(f"entries that Triton cannot use, or did not write: {damaged:,}")
    return judge(str(folder), pairs, differing, notes=sorted(notes))


def judge(
    subject: str,
    pairs: Iterable[tuple[PackedEntry, KeyParts]],
    differing: Iterable[tuple[PackedEntry, KeyDifference]],
    *,
    notes: Iterable[str] = (),
) -> Judgement:
    """The judgement on `pairs`, given what differs."""
    kernels = tuple(entry for entry, _ in pairs)
    misses = group_misses(differing)
    missed = {entry.key for miss in misses for entry in miss.entries}
    return Judgement(
        subject=subject,
        kernels=kernels,
        misses=misses,
        notes=tuple(notes),
        unread=sum(
            1
            for entry in kernels
            if entry.key not in missed and not (entry.functions and all(map(is_compared, entry.functions)))
        ),
    )


def compare_all(
    pairs: Iterable[tuple[PackedEntry, KeyParts]], here: KeyParts, environment: Mapping[str, str]
) -> Iterator[tuple[PackedEntry, KeyDifference]]:
    """Each difference of each kernel; a setting that compiles in any case is one of all."""
    always = variables()[ALWAYS_COMPILE].harmful(environment.get(ALWAYS_COMPILE, ""))
    for entry, packed in pairs:
        if always:
            message = f"{ALWAYS_COMPILE} is set here: Triton compiles whatever its cache holds"
            yield entry, KeyDifference(part="variable", message=message)
        for difference in compare_entry(entry, packed, here):
            yield entry, difference


def read_damage(folder: Path) -> str | None:
    """Return what is wrong with the files of the entry `folder`; None if nothing is, or if it is gone."""
    try:
        return describe_damage(folder)
    except OSError:
        return None


def damaged_modules(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the launchers and utilities below `folder` that cannot be loaded, and why."""
    for path in sorted({file.parent for file in folder.glob("*/*.so")}):
        if problem := read_damage(path):
            yield path, problem


def read_children(folder: Path, entry: PackedEntry) -> dict[str, str]:
    """The files of the group of `entry`, and where its group file says that they are."""
    try:
        group = json.loads(read_regular_file(folder / entry.key / f"{GROUP}{entry.kernel}{SUFFIX}", JSON_BYTES))
        return {str(name): str(path) for name, path in group["child_paths"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def compare_group(
    folder: Path, entry: PackedEntry, children: Mapping[str, str], here: KeyParts
) -> Iterator[KeyDifference]:
    """Whether Triton finds the files of `entry`: the folder was moved, or some are gone."""
    gone = [name for name, path in children.items() if not (folder / path).exists()]
    if not gone:
        return
    metadata = f"{entry.kernel}{SUFFIX}"
    if metadata in gone and (folder / entry.key / metadata).exists():
        old = children[metadata][: -len(metadata) - len(entry.key) - 2]
        message = f"the folder was moved: its group files name {old}, which is gone; pack and unpack move a cache"
        yield KeyDifference(part="moved", message=message)
        return
    version = parse_version(here.triton) if here.triton and here.triton[:1].isdigit() else None
    if metadata in gone or (version and version >= WHOLE_GROUPS_SINCE):
        endings = ", ".join(sorted({name.removeprefix(entry.kernel or "") for name in gone}))
        message = f"files are gone that the group file names: {endings}"
        yield KeyDifference(part="incomplete", message=message)


def find_elsewhere(folder: Path, entry: PackedEntry, children: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The files of `entry` that Triton reads from another folder than this, where they still are."""
    own = (folder / entry.key).resolve()
    for name, path in children.items():
        found = folder / path
        if found.exists() and found.parent.resolve() != own and path.endswith(f"{entry.key}/{name}"):
            yield name, path

"""Why Triton would not find the kernels of a pack or a cache folder here: each part of their keys that differs."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from triton_doctor.cache_placement import JSON_BYTES
from triton_doctor.machine.cache_damage import describe_damage
from triton_doctor.machine.cache_entries import GROUP, SUFFIX
from triton_doctor.machine.packs.compiled_functions import read_functions
from triton_doctor.machine.packs.gather import gather, match_kernel
from triton_doctor.machine.packs.install import read_kept_manifests
from triton_doctor.machine.packs.manifest import KERNEL, KeyParts
from triton_doctor.machine.packs.pack import open_pack
from triton_doctor.machine.probe_cache import MOUNTS, find_file_system, find_problem
from triton_doctor.machine.probe_installation import TOOLS
from triton_doctor.regular_files import read_regular_file
from triton_doctor.variables import Version, parse_version, ptxas_variable, variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.machine.packs.compiled_functions import FunctionSpan
    from triton_doctor.machine.packs.manifest import PackedEntry, SourceFunction


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class KeyDifference:
    """One part of the key that is not the same. `part` names it, `message` says how both sides have it."""

    part: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A difference, and the packed kernels that it lets miss."""

    difference: KeyDifference
    entries: tuple[PackedEntry, ...]


def find_misses(entries: Iterable[tuple[PackedEntry, KeyParts]], here: KeyParts) -> tuple[Miss, ...]:
    """Return the differences that keep Triton from finding packed kernels `here`; those that affect most kernels first.

    Each entry comes with what is known of the installation that compiled it. Parts of the key that either side does not
    know are not compared.
    """
    differing = (
        (entry, difference)
        for entry, packed in entries
        if entry.kind == KERNEL
        for difference in compare_entry(entry, packed, here)
    )
    return group_misses(differing)


def group_misses(differing: Iterable[tuple[PackedEntry, KeyDifference]]) -> tuple[Miss, ...]:
    """Collect the entries that share a difference into one Miss each, the largest first."""
    by_difference: dict[KeyDifference, list[PackedEntry]] = {}
    for entry, difference in differing:
        by_difference.setdefault(difference, []).append(entry)
    misses = [Miss(difference=difference, entries=tuple(found)) for difference, found in by_difference.items()]
    return tuple(sorted(misses, key=lambda miss: (-len(miss.entries), miss.difference)))


def compare_entry(entry: PackedEntry, packed: KeyParts, here: KeyParts) -> Iterator[KeyDifference]:
    """Yield each part of the key of `entry` that differs here: of the installation, and of the source of the kernel."""
    yield from compare_installations(entry, packed, here, "here")
    for function in entry.functions:
        yield from compare_function(function)


def compare_installations(entry: PackedEntry, packed: KeyParts, here: KeyParts, at: str) -> Iterator[KeyDifference]:
    """Yield each part of the key of `entry` that differs in the installation `here`.

    `packed` is the installation that compiled it. `at` is the word for the place of `here` in messages, such as "here".
    """
    compiled_by = entry.triton or packed.triton
    yield from compare_triton(compiled_by, packed, here, at)
    yield from compare_target(entry, here, at)
    if compiled_by and here.triton and same_release(compiled_by, here.triton):
        yield from compare_assembler(entry, packed, here, at)
    yield from compare_variables(entry.variables, here.variables, at)


def compare_triton(version: str | None, packed: KeyParts, here: KeyParts, at: str) -> Iterator[KeyDifference]:
    """Yield a difference of Triton's version; or of its build, if the version is the same."""
    if version is None or here.triton is None:
        return
    if not same_release(version, here.triton):
        yield KeyDifference(part="triton", message=f"Triton {here.triton} {at}, {version} in the pack")
        return
    if packed.triton is None or not same_release(version, packed.triton):
        return  # compiled by another Triton than the one that packed it: nothing is known of its build
    if packed.libtriton and here.libtriton and packed.libtriton != here.libtriton:
        if packed.python != here.python:
            message = f"Python {here.python} {at}, {packed.python} in the pack: Triton's library differs, and every key"
            yield KeyDifference(part="python", message=message)
        elif packed.platform != here.platform:
            message = f"{here.platform} {at}, {packed.platform} in the pack: Triton's library differs, and every key"
            yield KeyDifference(part="platform", message=message)
        else:
            message = f"another build of Triton {here.triton} {at}: its library libtriton differs, and every key"
            yield KeyDifference(part="libtriton", message=message)
    elif packed.libtriton and here.libtriton is None and packed.python != here.python:
        # Triton's library is another file for each minor version of Python.
        yield KeyDifference(part="python", message=f"Python {here.python} {at}, {packed.python} in the pack")
    elif packed.frontend and here.frontend and packed.frontend != here.frontend:
        message = f"Triton's own Python files differ {at} from those of the Triton {version} that compiled"
        yield KeyDifference(part="frontend", message=message)


def same_release(left: str, right: str) -> bool:
    """Return whether two versions are equal without their local parts (`+git...`), which Triton may not know itself."""
    return left.partition("+")[0] == right.partition("+")[0]


def compare_target(entry: PackedEntry, here: KeyParts, at: str) -> Iterator[KeyDifference]:
    """Yield a difference if `entry` was compiled for an architecture that no GPU of `here` has."""
    if entry.target and here.targets and entry.target not in here.targets:
        found = ", ".join(here.targets)
        yield KeyDifference(part="architecture", message=f"{found} {at}, compiled for {entry.target}")


def compare_assembler(entry: PackedEntry, packed: KeyParts, here: KeyParts, at: str) -> Iterator[KeyDifference]:
    """Yield a difference of the ptxas that Triton uses for the target of `entry`."""
    backend, _, arch = (entry.target or "").partition(":")
    if backend != "cuda" or not arch.isdigit():
        return
    release = parse_version(here.triton if (here.triton or "")[:1].isdigit() else None)
    tool = next(tool for tool, setting in TOOLS.items() if setting == ptxas_variable(release, int(arch)))
    ours, theirs = here.ptxas.get(tool), packed.ptxas.get(tool)
    if ours and theirs and ours != theirs:
        message = f"ptxas {name_release(ours)} {at}, {name_release(theirs)} in the pack"
        if name_release(ours) == name_release(theirs):
            message = f"ptxas {name_release(ours)} says another version text {at} than in the pack"
        yield KeyDifference(part="ptxas", message=message)


def name_release(text: str) -> str:
    """Extract the release and build from the version text of ptxas, as in `12.8 (V12.8.93)`."""
    words = text.replace(",", " ").split()
    release = words[words.index("release") + 1] if "release" in words[:-1] else text.strip()[:40]
    build = next((word for word in words if word.startswith("V") and word[1:2].isdigit()), None)
    return f"{release} ({build})" if build else release


def compare_variables(packed: Mapping[str, str], here: Mapping[str, str], at: str) -> Iterator[KeyDifference]:
    """Yield each environment variable that is part of the key and differs."""
    for name in sorted({*packed, *here}):
        ours, theirs = here.get(name), packed.get(name)
        if ours == theirs:
            continue
        if theirs is None:
            message = f"{name} is set {at}, and enters the key as {ours!r}; it was not when the kernel was compiled"
        elif ours is None:
            message = f"{name} was {theirs!r} when the kernel was compiled; it is not set {at}"
        else:
            message = f"{name} is {ours!r} {at}; it was {theirs!r} when the kernel was compiled"
        yield KeyDifference(part="variable", message=message)


def compare_function(function: SourceFunction) -> Iterator[KeyDifference]:
    """Yield differences of text and line of a function that the kernel was compiled from.

    Each copy of its file that a program here may import is compared.
    """
    files = {path: file for path in find_files(function.path, function.module_path) if (file := read_functions(path))}
    copies = {path: [found for found in file.functions if found.name == function.name] for path, file in files.items()}
    if files and not any(copies.values()):
        yield KeyDifference(part="source", message=f"{function.module_path} has no function `{function.name}` here")
    # A file of that name without the function is another one.
    for path, named in copies.items():
        if named:
            shown = function if len(files) == 1 else msgspec.structs.replace(function, module_path=path)
            yield from compare_copy(shown, named)


def compare_copy(function: SourceFunction, named: Sequence[FunctionSpan]) -> Iterator[KeyDifference]:
    """Yield differences between `function` and the functions of the same name in one file.

    The nearest of those with the same text is compared by line.
    """
    shown = f"{function.module_path}: `{function.name}`"
    same = [found for found in named if function.digest in (None, found.digest)]
    if not same:
        yield KeyDifference(part="source", message=f"{shown} has another text here")
        return
    lines = [
        (found.first, function.line) if function.digest else (found.definition, function.definition) for found in same
    ]
    nearest, packed = min(lines, key=lambda pair: abs(pair[0] - pair[1]))
    yield from compare_lines(function, nearest, packed, "here")


def compare_lines(function: SourceFunction, line: int, packed: int, at: str) -> Iterator[KeyDifference]:
    """Yield a difference if the function now begins at another line: `line`, rather than `packed`."""
    if line != packed:
        lower = line - packed
        count = f"{abs(lower)} line{'s' if abs(lower) > 1 else ''} {'lower' if lower > 0 else 'higher'}"
        shown = f"{function.module_path}: `{function.name}`"
        message = f"{shown} starts {count} {at}, at {line}: the line is part of the key"
        yield KeyDifference(part="line", message=message)


def is_compared(function: SourceFunction) -> bool:
    """Return whether `function` can be compared: its digest is known, and a copy of its file is here."""
    return function.digest is not None and bool(find_files(function.path, function.module_path))


@cache
def find_files(path: str, module_path: str) -> tuple[str, ...]:
    """Return every copy of the source file that a program here may run, without repetition.

    They are `path` itself, the longest tail of `path` that exists below the working directory, and `module_path` in
    each folder of `sys.path`.
    """
    ends = [Path(*Path(path).parts[at:]) for at in range(1, len(Path(path).parts))]
    below = next((end for end in ends if end.is_file()), None)
    candidates = [Path(path), *([below] if below else []), *(Path(entry or ".") / module_path for entry in sys.path)]
    return tuple({file.resolve(): str(file) for file in candidates if file.is_file()}.values())


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
        """Count the kernels that Triton would not find."""
        return len({entry.key for miss in self.misses for entry in miss.entries})


def judge_pack(path: Path, here: KeyParts, environment: Mapping[str, str]) -> Judgement:
    """Judge the kernels of the pack at `path`. Raises DoctorError if it is not a pack."""
    with open_pack(path) as (manifest, _):
        pairs = [(entry, manifest.parts) for entry in manifest.of_kind(KERNEL)]
    return judge(str(path), pairs, compare_all(pairs, here, environment))


def judge_folder(folder: Path, pattern: str, here: KeyParts, environment: Mapping[str, str]) -> Judgement:
    """Judge the kernels of the cache `folder` whose names match `pattern`.

    For kernels from a pack, the stored manifest says how they were compiled; for others, the cache itself says most of
    it.
    """
    known = {
        entry.key: (entry, manifest.parts) for manifest in read_kept_manifests(folder) for entry in manifest.entries
    }
    gathered = gather(folder, UNKNOWN, wanted=lambda entry: match_kernel(entry, pattern))
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
    """Combine kernels and their differences into a Judgement of `subject`."""
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
    """Yield each difference of each kernel, including one for all kernels if TRITON_ALWAYS_COMPILE is set."""
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
    """Return the files that the group file of `entry` lists, with their recorded paths; empty if it is damaged."""
    try:
        group = json.loads(read_regular_file(folder / entry.key / f"{GROUP}{entry.kernel}{SUFFIX}", JSON_BYTES))
        return {str(name): str(path) for name, path in group["child_paths"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def compare_group(
    folder: Path, entry: PackedEntry, children: Mapping[str, str], here: KeyParts
) -> Iterator[KeyDifference]:
    """Yield a difference if Triton does not find the files of `entry`: the folder was moved, or files are missing."""
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
    """Yield name and path of each file of `entry` that Triton reads from another folder, which still exists."""
    own = (folder / entry.key).resolve()
    for name, path in children.items():
        found = folder / path
        if found.exists() and found.parent.resolve() != own and path.endswith(f"{entry.key}/{name}"):
            yield name, path

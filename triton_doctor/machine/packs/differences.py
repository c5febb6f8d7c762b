"""Two sides of a key to KeyDifference: which part of it lets a packed kernel miss on a machine, and how to mend it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from triton_doctor.machine.packs.functions import read_functions
from triton_doctor.machine.packs.manifest import KERNEL
from triton_doctor.machine.probe_toolchain import TOOLS
from triton_doctor.variables import parse_version, ptxas_variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.machine.packs.functions import FunctionSpan
    from triton_doctor.machine.packs.manifest import KeyParts, PackedEntry, SourceFunction


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
    """What lets which kernels of `entries` miss `here`; the difference that concerns most of them first.

    Each entry comes with what is known of the installation that compiled it. Silent about a part that one of both sides
    does not know.
    """
    differing = (
        (entry, difference)
        for entry, packed in entries
        if entry.kind == KERNEL
        for difference in compare_entry(entry, packed, here)
    )
    return group_misses(differing)


def group_misses(differing: Iterable[tuple[PackedEntry, KeyDifference]]) -> tuple[Miss, ...]:
    """A Miss for each difference, that of most entries first."""
    by_difference: dict[KeyDifference, list[PackedEntry]] = {}
    for entry, difference in differing:
        by_difference.setdefault(difference, []).append(entry)
    misses = [Miss(difference=difference, entries=tuple(found)) for difference, found in by_difference.items()]
    return tuple(sorted(misses, key=lambda miss: (-len(miss.entries), miss.difference)))


def compare_entry(entry: PackedEntry, packed: KeyParts, here: KeyParts) -> Iterator[KeyDifference]:
    """Each part of the key of `entry` that is another one here."""
    yield from compare_installations(entry, packed, here, "here")
    for function in entry.functions:
        yield from compare_function(function)


def compare_installations(entry: PackedEntry, packed: KeyParts, here: KeyParts, at: str) -> Iterator[KeyDifference]:
    """Each part of the key of `entry` that is another one in the installation `here`, which is `at` a place."""
    compiled_by = entry.triton or packed.triton
    yield from compare_triton(compiled_by, packed, here, at)
    yield from compare_target(entry, here, at)
    if compiled_by and here.triton and same_release(compiled_by, here.triton):
        yield from compare_assembler(entry, packed, here, at)
    yield from compare_variables(entry.variables, here.variables, at)


def compare_triton(version: str | None, packed: KeyParts, here: KeyParts, at: str) -> Iterator[KeyDifference]:
    """The version of Triton, and its build where the version is the same."""
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


def same_release(one: str, other: str) -> bool:
    """Whether two versions are the same but for the name of a local build, which Triton itself may not know."""
    return one.partition("+")[0] == other.partition("+")[0]


def compare_target(entry: PackedEntry, here: KeyParts, at: str) -> Iterator[KeyDifference]:
    """The architecture, where it is known which is here."""
    if entry.target and here.targets and entry.target not in here.targets:
        found = ", ".join(here.targets)
        yield KeyDifference(part="architecture", message=f"{found} {at}, compiled for {entry.target}")


def compare_assembler(entry: PackedEntry, packed: KeyParts, here: KeyParts, at: str) -> Iterator[KeyDifference]:
    """The assembler for the architecture, of one version of Triton."""
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
    """`12.8 (V12.8.93)` of what ptxas says of its version."""
    words = text.replace(",", " ").split()
    release = words[words.index("release") + 1] if "release" in words[:-1] else text.strip()[:40]
    build = next((word for word in words if word.startswith("V") and word[1:2].isdigit()), None)
    return f"{release} ({build})" if build else release


def compare_variables(packed: Mapping[str, str], here: Mapping[str, str], at: str) -> Iterator[KeyDifference]:
    """The variables that enter the key."""
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
    """The text and the first line of one function that the kernel was compiled from, in each copy of its file here."""
    files = {path: file for path in find_files(function.path, function.module_path) if (file := read_functions(path))}
    copies = {path: [one for one in file.functions if one.name == function.name] for path, file in files.items()}
    if files and not any(copies.values()):
        yield KeyDifference(part="source", message=f"{function.module_path} has no function `{function.name}` here")
    # A file of that name without the function is another one.
    for path, named in copies.items():
        if named:
            shown = function if len(files) == 1 else msgspec.structs.replace(function, module_path=path)
            yield from compare_copy(shown, named)


def compare_copy(function: SourceFunction, named: Sequence[FunctionSpan]) -> Iterator[KeyDifference]:
    """The text and the first line of `function`, and those of its name in one file."""
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
    """The line of a function `at` a place, and the one that it was compiled at."""
    if line != packed:
        lower = line - packed
        count = f"{abs(lower)} line{'s' if abs(lower) > 1 else ''} {'lower' if lower > 0 else 'higher'}"
        shown = f"{function.module_path}: `{function.name}`"
        message = f"{shown} starts {count} {at}, at {line}: the line is part of the key"
        yield KeyDifference(part="line", message=message)


def is_compared(function: SourceFunction) -> bool:
    """Whether the text of `function` is known, and a file here may have it."""
    return function.digest is not None and bool(find_files(function.path, function.module_path))


@cache
def find_files(path: str, module_path: str) -> tuple[str, ...]:
    """Every copy of the file that a program here may run: where it was, below this folder, or where an import finds it.

    Below this folder it is looked for by the end of its path, the longest that is there.
    """
    ends = [Path(*Path(path).parts[at:]) for at in range(1, len(Path(path).parts))]
    below = next((end for end in ends if end.is_file()), None)
    candidates = [Path(path), *([below] if below else []), *(Path(entry or ".") / module_path for entry in sys.path)]
    return tuple({file.resolve(): str(file) for file in candidates if file.is_file()}.values())

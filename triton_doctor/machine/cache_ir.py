"""Triton's IR as text to KernelCode: a variant's signature, and the constants at each place of the source.

The IR is what the cache keeps of a variant beside its binary: a constexpr is not named in it, but where it was used its
value stands as a constant, with line and column of the use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FUNCTION = re.compile(
    r"^\s*tt\.func public @\w+\((?P<arguments>.*)\) attributes|^\s*tt\.func public @\w+\((?P<bare>.*)\)", re.MULTILINE
)
ARGUMENT = re.compile(r"%(?P<name>[\w.$-]+): (?P<type>[^{]*?)(?: \{(?P<attributes>[^}]*)\})?(?: loc\((?P<loc>.*)\))?$")
LOCATION = re.compile(r"^(?P<name>#loc\d*) = loc\((?P<text>.*)\)$", re.MULTILINE)
FILE = re.compile(r'"(?P<path>[^"]+)":(?P<line>\d+):(?P<column>\d+)')
REFERENCE = re.compile(r"#loc\d*")
CONSTANT = re.compile(r"(?P<name>%[\w.$-]+) = arith\.constant (?:dense<(?P<dense>[^>]+)>|(?P<plain>[^\s:]+)) ?:?")
OPERATION = re.compile(r"\s*(?:%[^=]* = )?\"?(?P<operation>[a-z_]+\.[\w.]+)")
PLACED = " loc("
OPERAND = re.compile(r"%[\w.$-]+(?:#\d+)?|\b(?:end|value) = (?P<attribute>-?\d+)")


@dataclass(frozen=True, slots=True, order=True)
class CodePlace:
    """A place of the source as the IR spells it; `column` counts as that version of triton does."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCode:
    """One variant. `arguments` are name, type and attributes of what was not compiled in; names are None until 3.5.

    `constants` are what was compiled in, in the order of the IR, by the place that uses it.
    """

    start: CodePlace | None
    arguments: tuple[tuple[str | None, str, str], ...]
    constants: Mapping[CodePlace, tuple[str, ...]]


Frames: TypeAlias = tuple[CodePlace, ...]


def read_code(text: str) -> KernelCode:
    """The code of `text`, the IR that triton keeps as `.ttir`."""
    locations = {match["name"]: match["text"] for match in LOCATION.finditer(text)}
    head = FUNCTION.search(text)
    arguments = (head["arguments"] or head["bare"] or "") if head else ""
    # Gluon's code has no place of the module, but of each argument.
    start = next(iter(frames(locations.get("#loc", ""), locations) or frames(arguments, locations)), None)
    known = {match["name"]: match["dense"] or match["plain"] for match in CONSTANT.finditer(text)}
    constants: dict[CodePlace, list[str]] = {}
    for line in text.splitlines():
        match, loc = OPERATION.match(line), line.rfind(PLACED)
        if match is None or loc < 0 or match["operation"] == "arith.constant":
            continue
        places = frames(line[loc + len(PLACED) :], locations)
        values = [
            operand["attribute"] or known[operand[0]]
            for operand in OPERAND.finditer(line, match.end(), loc)
            if operand["attribute"] or operand[0] in known
        ]
        if places and values:
            constants.setdefault(place_within(places, start), []).extend(values)
    return KernelCode(
        start=start,
        arguments=tuple(read_arguments(arguments)),
        constants={place: tuple(values) for place, values in constants.items()},
    )


def read_arguments(text: str) -> Iterator[tuple[str | None, str, str]]:
    """Name, type and attributes of each argument of a function."""
    for part in split_arguments(text):
        if match := ARGUMENT.match(part.strip()):
            name = None if re.fullmatch(r"arg\d+", match["name"]) else match["name"]
            yield name, match["type"].strip(), match["attributes"] or ""


def split_arguments(text: str) -> Iterator[str]:
    """The parts of `text` between the commas that stand in no bracket."""
    depth = begin = 0
    quoted = False
    for position, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter in "(<{[":
            depth += 1
        elif letter in ")}]" or (letter == ">" and text[position - 1] != "-"):
            depth -= 1
        elif letter == "," and depth == 0:
            yield text[begin:position]
            begin = position + 1
    if text[begin:].strip():
        yield text[begin:]


def frames(text: str, locations: Mapping[str, str], depth: int = 0) -> Frames:
    """The places that the location `text` stands for, the innermost call first; none where unknown."""
    found: list[CodePlace] = []
    for match in re.finditer(rf"{FILE.pattern}|{REFERENCE.pattern}", text):
        if match["path"] is not None:
            found.append(CodePlace(match["path"], int(match["line"]), int(match["column"])))
        elif depth < 32:
            found.extend(frames(locations.get(match[0], ""), locations, depth + 1))
    return tuple(found)


def place_within(places: Frames, start: CodePlace | None) -> CodePlace:
    """The last of `places`, from the innermost call to the outermost, that is in the kernel's own file."""
    own = [place for place in places if start is not None and place.path == start.path]
    return own[-1] if own else places[-1]

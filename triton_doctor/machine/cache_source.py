"""A cached kernel's IR to its signature and constants, and to the parameters of its source that the latter stand for.

The IR is what the cache keeps of a variant beside its binary. It does not name a constexpr, but has its value as a
constant wherever it was used, with the line and column of that use.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from triton_doctor.regular_files import read_regular_file

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
    """Parse `text`, a `.ttir` or `.glir` file of the cache, into a KernelCode."""
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
    """Yield name, type and attributes of each argument in the IR's argument list `text`.

    The name is None where the IR has only numbered arguments (`%arg0`).
    """
    for part in split_arguments(text):
        if match := ARGUMENT.match(part.strip()):
            name = None if re.fullmatch(r"arg\d+", match["name"]) else match["name"]
            yield name, match["type"].strip(), match["attributes"] or ""


def split_arguments(text: str) -> Iterator[str]:
    """Split `text` at its commas, except those inside brackets or quotes."""
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
    """Resolve the IR location `text` to source places, the innermost call first; empty if it has none.

    `locations` maps the names of locations, such as `#loc1`, to their texts.
    """
    found: list[CodePlace] = []
    for match in re.finditer(rf"{FILE.pattern}|{REFERENCE.pattern}", text):
        if match["path"] is not None:
            found.append(CodePlace(match["path"], int(match["line"]), int(match["column"])))
        elif depth < 32:
            found.extend(frames(locations.get(match[0], ""), locations, depth + 1))
    return tuple(found)


def place_within(places: Frames, start: CodePlace | None) -> CodePlace:
    """Return the place, of a stack of calls with the innermost first, by which to attribute an operation.

    It is the outermost one in the file of the kernel, which begins at `start`; if none is in that file, the outermost
    of all.
    """
    own = [place for place in places if start is not None and place.path == start.path]
    return own[-1] if own else places[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """The compile-time parameters below a place. `alone` where a constant there is the value of the only one."""

    names: tuple[str, ...]
    alone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedSource:
    """A kernel's source, read again from where the IR says that it stood. `start` is the place of its function."""

    name: str
    start: CodePlace
    parameters: tuple[str, ...]
    constexprs: tuple[str, ...]
    indent: int
    function: ast.FunctionDef

    def naming(self, place: CodePlace, candidates: tuple[str, ...]) -> Naming | None:
        """Return which of `candidates` the code at `place` refers to; None if it refers to none.

        That is the largest expression that begins at `place`, else the smallest one around it that has a candidate.
        Triton parses the source without its indent and counts columns from 0 or 1, so columns are relative to the
        function's own.
        """
        column = place.column - self.start.column + self.indent
        around = self.nodes_around(place.line, column)
        # Of the expressions that begin there the largest: triton's place of `A * 2 + x` is that of `A * 2` and of `A`.
        begun = [node for node in around if (node.lineno, node.col_offset) == (place.line, column)]
        for node in [*begun[-1:], *around]:
            if names := names_in(node, candidates):
                parts = [node, *(part for part in begun if not isinstance(part, ast.Name))]
                alone = len(names) == 1 and any(is_operand(names[0], part) for part in parts)
                return Naming(names=names, alone=alone)
        return None

    def nodes_around(self, line: int, column: int) -> list[ast.expr]:
        """Return the expressions that cover the given line and column, the smallest first."""
        covering = [
            node
            for node in ast.walk(self.function)
            if isinstance(node, ast.expr)
            and (node.lineno, node.col_offset) <= (line, column)
            and (line, column) < (node.end_lineno or node.lineno, node.end_col_offset or 0)
        ]
        return sorted(covering, key=lambda node: (node.end_lineno, node.end_col_offset, -node.lineno, -node.col_offset))


def names_in(node: ast.expr, candidates: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of `candidates` that occur as names in `node`, without repetition."""
    parts = (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return tuple(dict.fromkeys(name for name in parts if name in candidates))


def is_operand(name: str, node: ast.expr) -> bool:
    """Return whether a constant in the IR at `node` equals `name`: `name` is an operand beside a run-time value.

    An expression of constants alone, such as `name * 2`, is computed while compiling, so that the constant is its
    result.
    """
    match node:
        case ast.Name():
            operands: list[ast.expr] = [node]
        case ast.BinOp() if has_other(node, name):
            operands = [node.left, node.right]
        case ast.Compare() if has_other(node, name):
            operands = [node.left, *node.comparators]
        case ast.Call(func=ast.Attribute(attr="arange")):
            operands = node.args
        case _:
            operands = []
    return any(isinstance(operand, ast.Name) and operand.id == name for operand in operands)


def has_other(node: ast.expr, name: str) -> bool:
    """Return whether `node` uses a name other than `name`."""
    return any(isinstance(part, ast.Name) and part.id != name for part in ast.walk(node))


@cache
def read_kernel_source(start: CodePlace) -> CachedSource | None:
    """Parse the source file of a kernel and return its function that begins at `start`.

    None if the file is gone, does not parse, or has no function on that line.
    """
    try:
        tree = ast.parse(read_regular_file(start.path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and start.line in {node.lineno, first_line(node)}:
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            return CachedSource(
                name=node.name,
                start=start,
                parameters=tuple(argument.arg for argument in arguments),
                constexprs=tuple(argument.arg for argument in arguments if is_constexpr(argument)),
                indent=node.col_offset,
                function=node,
            )
    return None


@cache
def find_qualname(path: str, line: int) -> str | None:
    """Return the qualified name of the function in `path` that begins at `line`; None if there is none.

    A function begins at its `def` or at its first decorator.
    """
    try:
        pending: list[tuple[str, ast.AST]] = [("", ast.parse(read_regular_file(path)))]
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    while pending:
        around, node = pending.pop()
        for child in ast.iter_child_nodes(node):
            name = f"{around}.{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else around
            if isinstance(child, ast.FunctionDef) and line in {child.lineno, first_line(child)}:
                return name.removeprefix(".")
            pending.append((name, child))
    return None


def first_line(node: ast.FunctionDef) -> int:
    """Return the first line of `node`, its decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def is_constexpr(argument: ast.arg) -> bool:
    """Return whether the annotation of `argument` makes it a constexpr: like Triton, by the word in its text."""
    return argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation)

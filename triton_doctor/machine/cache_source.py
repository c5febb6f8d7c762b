"""A place in a kernel's source to the compile-time parameters that it names."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from triton_doctor.regular_files import read_regular_file

if TYPE_CHECKING:
    from triton_doctor.machine.cache_ir import CodePlace


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
        """What of `candidates` the expression at `place` names, or the smallest around it that does; None for none.

        Triton reads the source without its indent, and counts columns from 0 or 1, as it does for the function's own.
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
        """The expressions that cover a place, the smallest first."""
        covering = [
            node
            for node in ast.walk(self.function)
            if isinstance(node, ast.expr)
            and (node.lineno, node.col_offset) <= (line, column)
            and (line, column) < (node.end_lineno or node.lineno, node.end_col_offset or 0)
        ]
        return sorted(covering, key=lambda node: (node.end_lineno, node.end_col_offset, -node.lineno, -node.col_offset))


def names_in(node: ast.expr, candidates: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `candidates` that stand in `node`."""
    parts = (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return tuple(dict.fromkeys(name for name in parts if name in candidates))


def is_operand(name: str, node: ast.expr) -> bool:
    """Whether a constant at `node` is the value of `name`: it is the operand of something that runs on the GPU.

    What has no other operand, `name * 2` say, is computed while compiling, and leaves its result as the constant.
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
    """Whether another name than `name` stands in `node`."""
    return any(isinstance(part, ast.Name) and part.id != name for part in ast.walk(node))


@cache
def read_kernel_source(start: CodePlace) -> CachedSource | None:
    """The function that begins at `start`; None where the file is gone, or no longer has one there."""
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
    """The qualified name of the function that begins at `line`, its decorators included; None where none does."""
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
    """Where `node` begins, its decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def is_constexpr(argument: ast.arg) -> bool:
    """Whether `argument` is annotated as triton takes for a constexpr: the word in the annotation's text."""
    return argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation)

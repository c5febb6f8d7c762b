"""A place in a kernel's source to the compile-time parameters that it names."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.environment.cache_ir import CodePlace

STOP = (ast.stmt, ast.FunctionDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """The compile-time parameters below a place. `alone` where one of them is itself an operand there."""

    names: tuple[str, ...]
    text: str
    alone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource:
    """A kernel's source, read again from where the IR says that it stood. `start` is the place of its function."""

    name: str
    start: CodePlace
    parameters: tuple[str, ...]
    constexprs: tuple[str, ...]
    indent: int
    function: ast.FunctionDef

    def naming(self, place: CodePlace, candidates: tuple[str, ...]) -> Naming | None:
        """What of `candidates` the smallest expression at `place` names; None where there is none."""
        # Triton reads the source without its indent; columns count from where the function's own does, 0 or 1.
        column = place.column - self.start.column + self.indent
        for node in self.nodes_at(place.line, column):
            inside = tuple(
                dict.fromkeys(
                    part.id for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in candidates
                )
            )
            if inside:
                return Naming(
                    names=inside, text=ast.unparse(node), alone=len(inside) == 1 and stands_alone(node, inside[0])
                )
        return None

    def nodes_at(self, line: int, column: int) -> Iterator[ast.expr]:
        """The expressions around a place, the smallest first."""
        around = [
            node
            for node in ast.walk(self.function)
            if isinstance(node, ast.expr)
            and (node.lineno, node.col_offset) <= (line, column)
            and (line, column) < (node.end_lineno or node.lineno, node.end_col_offset or 0)
        ]
        yield from sorted(around, key=lambda node: ((node.end_lineno or 0) - node.lineno, len(ast.unparse(node))))


def stands_alone(node: ast.expr, name: str) -> bool:
    """Whether `name` is an operand of `node`, or the whole of it: then a constant there is its value."""
    match node:
        case ast.Name():
            operands: list[ast.expr] = [node]
        case ast.BinOp():
            operands = [node.left, node.right]
        case ast.Compare():
            operands = [node.left, *node.comparators]
        case ast.Call():
            operands = [*node.args, *(keyword.value for keyword in node.keywords)]
        case _:
            operands = []
    return any(isinstance(operand, ast.Name) and operand.id == name for operand in operands)


@cache
def read_kernel_source(start: CodePlace) -> KernelSource | None:
    """The function that begins at `start`; None where the file is gone, or no longer has one there."""
    try:
        tree = ast.parse(Path(start.path).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and start.line in {node.lineno, first_line(node)}:
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            return KernelSource(
                name=node.name,
                start=start,
                parameters=tuple(argument.arg for argument in arguments),
                constexprs=tuple(argument.arg for argument in arguments if is_constexpr(argument)),
                indent=node.col_offset,
                function=node,
            )
    return None


def first_line(node: ast.FunctionDef) -> int:
    """Where `node` begins, its decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def is_constexpr(argument: ast.arg) -> bool:
    """Whether `argument` is annotated as triton takes for a constexpr: the word in the annotation's text."""
    return argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation)

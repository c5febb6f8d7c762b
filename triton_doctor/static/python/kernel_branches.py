"""Branches of a kernel: must the test be known at compile time, or does a run-time number do?

Triton compiles both arms of a branch with a run-time test. A name bound in an arm must then have one type whichever arm
ran, so a name that is read after the branch counts as a reason to decide it at compile time. So does a `return` of a
value, and a `return` in a loop (triton 3.9 code_generator.py visit_If, visit_then_else_blocks).
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from triton_doctor.static.python.nodes import names_in, parts

if TYPE_CHECKING:
    from collections.abc import Iterable


class NamesInOrder:
    """The names that a body loads and binds, in order of the text."""

    def __init__(self) -> None:
        """Start empty."""
        self.loaded: list[str] = []
        self.bound: list[str] = []
        self._total: Counter[str] | None = None

    def mark(self) -> tuple[int, int]:
        """Return the current position in both lists."""
        return len(self.loaded), len(self.bound)

    def outlives(self, begin: tuple[int, int], end: tuple[int, int]) -> bool:
        """Return whether a name bound between two positions is loaded outside them.

        Call it after the whole body was read.
        """
        bound = self.bound[begin[1] : end[1]]
        if not bound:
            return False
        if self._total is None:
            self._total = Counter(self.loaded)
        inside = Counter(self.loaded[begin[0] : end[0]])
        return any(self._total[name] > inside[name] for name in set(bound))


class Branch:
    """An `if` or a conditional expression, and the range of the body's names inside it."""

    __slots__ = ("begin", "end", "in_loop", "node")

    def __init__(self, node: ast.If | ast.IfExp, begin: tuple[int, int], end: tuple[int, int], *, in_loop: bool):
        """`in_loop` says whether it stands in a loop of the kernel."""
        self.node, self.begin, self.end, self.in_loop = node, begin, end, in_loop

    def must_be_constexpr(self, names: NamesInOrder) -> bool:
        """Return whether Triton may reject the branch if its test is known only at run time."""
        if isinstance(self.node, ast.IfExp):
            return not _are_numbers_of_one_type(self.node.body, self.node.orelse)
        returns = _returns_in(self.node)
        if returns and (self.in_loop or any(part.value is not None for part in returns)):
            return True
        return names.outlives(self.begin, self.end)

    def is_repeated(self, unrolled: Iterable[ast.For]) -> bool:
        """Return whether one of the `unrolled` loops changes what is tested: no launch can pass the outcomes."""
        tested = set(names_in(self.node.test))
        return any(
            isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id in tested
            for loop in unrolled
            for part in parts(loop)
        )


def _are_numbers_of_one_type(*values: ast.expr) -> bool:
    kinds = {type(value.value) if isinstance(value, ast.Constant) else None for value in values}
    return kinds in ({int}, {float})


def _returns_in(branch: ast.If) -> list[ast.Return]:
    """Return the `return` statements of `branch`, including those in nested blocks."""
    found: list[ast.Return] = []
    pending: list[ast.stmt] = [branch]
    while pending:
        statement = pending.pop()
        if type(statement) is ast.Return:
            found.append(statement)
        elif "body" in statement._fields:
            pending += statement.body  # type: ignore[attr-defined]
            pending += getattr(statement, "orelse", ())
    return found


def compared(test: ast.expr) -> list[ast.expr]:
    """Return the parts of a test that are compared or tested for truth; `x is None` works with any argument."""
    match test:
        case ast.BoolOp(values=values):
            return [part for value in values for part in compared(value)]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return compared(operand)
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return []
        case _:
            return [test]


def needs_more_than_a_number(part: ast.expr) -> bool:
    """Return whether a part of a test needs a string, a dtype or a tuple, which no plain argument can be."""
    if not isinstance(part, ast.Compare):
        return False
    if any(isinstance(op, ast.In | ast.NotIn) for op in part.ops):
        return True
    return any(
        isinstance(comparator, ast.Attribute | ast.Tuple | ast.List)
        or (isinstance(comparator, ast.Constant) and isinstance(comparator.value, str))
        for comparator in (part.left, *part.comparators)
    )

"""Branches of a kernel to whether they must be decided while it compiles, or work with a number of run time too.

Triton compiles both arms of a branch whose test is known at run time only. A name that an arm binds must then have one
type whichever arm ran, so a name that is read after the branch counts as a reason to decide it while compiling. So does
a `return` of a value, and one in a loop (triton 3.9 code_generator.py visit_If, visit_then_else_blocks).
"""

from __future__ import annotations

import ast
from collections import Counter


class NamesInOrder:
    """The names that a body loads and binds, in the order of the text."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self.loaded: list[str] = []
        self.bound: list[str] = []
        self._total: Counter[str] | None = None

    def mark(self) -> tuple[int, int]:
        """The current position in both lists."""
        return len(self.loaded), len(self.bound)

    def outlives(self, begin: tuple[int, int], end: tuple[int, int]) -> bool:
        """Whether a name bound between two positions is loaded outside them; asked when the whole body was read."""
        bound = self.bound[begin[1] : end[1]]
        if not bound:
            return False
        if self._total is None:
            self._total = Counter(self.loaded)
        inside = Counter(self.loaded[begin[0] : end[0]])
        return any(self._total[name] > inside[name] for name in set(bound))


class Branch:
    """An `if` or a conditional expression, and the part of the body's names that stands in it."""

    __slots__ = ("begin", "end", "in_loop", "node")

    def __init__(self, node: ast.If | ast.IfExp, begin: tuple[int, int], end: tuple[int, int], *, in_loop: bool):
        """`in_loop` says whether a loop of the kernel surrounds it."""
        self.node, self.begin, self.end, self.in_loop = node, begin, end, in_loop

    def must_be_constexpr(self, names: NamesInOrder) -> bool:
        """Whether Triton may refuse the branch where its test is known at run time only."""
        if isinstance(self.node, ast.IfExp):
            return not _are_numbers_of_one_type(self.node.body, self.node.orelse)
        returns = _returns_in(self.node)
        if returns and (self.in_loop or any(part.value is not None for part in returns)):
            return True
        return names.outlives(self.begin, self.end)


def _are_numbers_of_one_type(*values: ast.expr) -> bool:
    kinds = {type(value.value) if isinstance(value, ast.Constant) else None for value in values}
    return kinds in ({int}, {float})


def _returns_in(branch: ast.If) -> list[ast.Return]:
    """The `return` statements of `branch`, those in inner blocks included."""
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
    """The parts of a test that are compared or asked for their truth; `x is None` works with any argument."""
    match test:
        case ast.BoolOp(values=values):
            return [part for value in values for part in compared(value)]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return compared(operand)
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return []
        case _:
            return [test]


def asks_for_more_than_a_number(part: ast.expr) -> bool:
    """Whether a part of a test takes a word, a dtype or a tuple, which no plain argument can be."""
    if not isinstance(part, ast.Compare):
        return False
    if any(isinstance(op, ast.In | ast.NotIn) for op in part.ops):
        return True
    return any(
        isinstance(one, ast.Attribute | ast.Tuple | ast.List)
        or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in (part.left, *part.comparators)
    )

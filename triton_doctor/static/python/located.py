"""Syntax to expressions when they are asked for, without a gap, and to the places where they stand."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple, cast

from triton_doctor.static.python.ir import Call, Comprehension, Expr, IterItem, Opaque, TupleExpr, Unpacked
from triton_doctor.static.python.lower import Lowering

if TYPE_CHECKING:
    from triton_doctor.finding import Span
    from triton_doctor.static.sources.source_text import SourceText


class _Pending(NamedTuple):
    node: ast.expr


def pending(node: ast.expr) -> Expr:
    """What stands for the expression at `node` until somebody asks for it; `resolve` lowers it."""
    return cast("Expr", _Pending(node))


class LocatedLowering(Lowering):
    """Lowers each node once; what is Opaque keeps the expressions in it. The tree is held as long as this is."""

    def __init__(self, source: SourceText) -> None:
        """`source` is the text of the file."""
        super().__init__(lambda node, call: None, lambda name, value, line: None)
        self._source = source
        # By identity: an expression, or the name and the value of a keyword in a call.
        self._nodes: dict[int, tuple[Expr | tuple[str | None, Expr], ast.expr | ast.keyword]] = {}
        self._lowered: dict[int, Expr] = {}

    def lower(self, node: ast.expr) -> Expr:
        """The expression at `node`, the same one each time."""
        known = self._lowered.get(id(node))
        if known is not None:
            return known
        expr = super().lower(node)
        if type(expr) is Opaque:
            expr = Opaque(expr.what, self._parts(node))
        elif type(expr) is Call and isinstance(node, ast.Call):
            for pair, keyword in zip(expr.keywords, node.keywords, strict=True):
                self._nodes[id(pair)] = (pair, keyword)
        self._nodes.setdefault(id(expr), (expr, node))  # `(y := x)` has the value of `x`
        self._lowered[id(node)] = expr
        return expr

    def resolve(self, value: Expr) -> Expr:
        """`value`, which may be pending, or an item of what is."""
        if isinstance(value, _Pending):
            return self.lower(value.node)
        match value:
            case Unpacked(whole):
                return value._replace(value=self.resolve(whole))
            case IterItem(source):
                return IterItem(self.resolve(source))
            case _:
                return value

    def span(self, part: Expr | tuple[str | None, Expr]) -> Span:
        """Where `part` stands, which is an expression or a keyword of a call."""
        return self._source.span(self._nodes[id(part)][1])

    def _parts(self, node: ast.expr) -> tuple[Expr, ...]:
        if isinstance(node, ast.DictComp):
            item = TupleExpr((self.lower(node.key), self.lower(node.value)))
            return (Comprehension(item, (self.comprehension_loop(node.generators[0]),)),)
        return tuple([self.lower(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)])

"""Lazy lowering of syntax to complete expressions, with the span of each."""

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
    """Return a placeholder for the expression at `node`; `resolve` lowers it."""
    return cast("Expr", _Pending(node))


class LocatedLowering(Lowering):
    """Lowers each node once. Opaque expressions keep their parts. Keeps the syntax tree alive."""

    def __init__(self, source: SourceText) -> None:
        """`source` is the text of the file."""
        super().__init__(lambda node, call: None, lambda name, value, line: None)
        self._source = source
        # Keyed by identity: an expression, or the name and value of a keyword in a call.
        self._nodes: dict[int, tuple[Expr | tuple[str | None, Expr], ast.expr | ast.keyword]] = {}
        self._lowered: dict[int, Expr] = {}

    def lower(self, node: ast.expr) -> Expr:
        """Return the expression at `node`, the same object each time."""
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
        """Return `value`, lowered if it is a placeholder or an item of one."""
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
        """Return the span of `part`, an expression or a keyword of a call."""
        return self._source.span(self._nodes[id(part)][1])

    def _parts(self, node: ast.expr) -> tuple[Expr, ...]:
        if isinstance(node, ast.DictComp):
            item = TupleExpr((self.lower(node.key), self.lower(node.value)))
            return (Comprehension(item, (self.comprehension_loop(node.generators[0]),)),)
        return tuple([self.lower(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)])

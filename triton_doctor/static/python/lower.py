"""Syntax to expressions: `ast.expr` to `Expr`. A callback receives each call on the way."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Compare,
    Comprehension,
    ComprehensionLoop,
    Conditional,
    Const,
    DictExpr,
    Expr,
    Lambda,
    Name,
    Opaque,
    Slice,
    Star,
    Subscript,
    TupleExpr,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_BITS = 256
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.MatMult: "@",
    ast.UAdd: "+",
    ast.USub: "-",
    ast.Invert: "~",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class Lowering:
    """Lowers the expressions of one function.

    `on_call` receives each call, innermost first, and `on_named` each `:=`.
    """

    def __init__(self, on_call: Callable[[ast.Call, Call], None], on_named: Callable[[str, Expr, int], None]) -> None:
        """Call `on_named(name, value, line)` for each `:=` that is lowered."""
        self._on_call = on_call
        self._on_named = on_named

    def lower(self, node: ast.expr) -> Expr:
        """Return the expression; Opaque for syntax that is not followed."""
        kind = type(node)
        if kind is ast.Name:  # every other one is
            return Name(node.id)  # type: ignore[attr-defined]
        lower = _LOWER.get(kind)
        return lower(self, node) if lower is not None else Opaque(kind.__name__)

    def lower_all(self, nodes: list[ast.expr]) -> tuple[Expr, ...]:
        """Return the expression of each of `nodes`."""
        return tuple(map(self.lower, nodes)) if nodes else ()

    def _constant(self, node: ast.Constant) -> Expr:
        value = node.value
        # Sizes are small, and Python refuses to print integers of thousands of digits.
        return Opaque("Constant") if type(value) is int and value.bit_length() > _MOST_BITS else Const(value)

    def _attribute(self, node: ast.Attribute) -> Expr:
        return Attr(self.lower(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Expr:
        return Subscript(self.lower(node.value), self.lower(node.slice))

    def _slice(self, node: ast.Slice) -> Expr:
        lower, upper, step = (
            self.lower(part) if part is not None else None for part in (node.lower, node.upper, node.step)
        )
        return Slice(lower, upper, step)

    def _call(self, node: ast.Call) -> Expr:
        call = Call(
            self.lower(node.func),
            self.lower_all(node.args),
            tuple([(keyword.arg, self.lower(keyword.value)) for keyword in node.keywords]),
        )
        self._on_call(node, call)
        return call

    def _binary(self, node: ast.BinOp) -> Expr:
        return BinaryOp(_OPERATORS[type(node.op)], (self.lower(node.left), self.lower(node.right)))

    def _unary(self, node: ast.UnaryOp) -> Expr:
        if isinstance(node.op, ast.Not):
            return Compare("not", (self.lower(node.operand),))
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = node.operand.value
            if isinstance(value, int | float | complex):
                return Const(-value)
        return BinaryOp(_OPERATORS[type(node.op)], (self.lower(node.operand),))

    def _compare(self, node: ast.Compare) -> Expr:
        return Compare(_OPERATORS[type(node.ops[0])], (self.lower(node.left), *self.lower_all(node.comparators)))

    def _bool(self, node: ast.BoolOp) -> Expr:
        return Conditional(None, self.lower_all(node.values), "and" if isinstance(node.op, ast.And) else "or")

    def _if(self, node: ast.IfExp) -> Expr:
        return Conditional(self.lower(node.test), (self.lower(node.body), self.lower(node.orelse)))

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> Expr:
        return TupleExpr(self.lower_all(node.elts))

    def _star(self, node: ast.Starred) -> Expr:
        return Star(self.lower(node.value))

    def _dict(self, node: ast.Dict) -> Expr:
        keys = [self.lower(key) if key is not None else None for key in node.keys]
        return DictExpr(tuple(zip(keys, self.lower_all(node.values), strict=True)))

    def _lambda(self, node: ast.Lambda) -> Expr:
        return Lambda(tuple(arg.arg for arg in node.args.posonlyargs + node.args.args), self.lower(node.body))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Expr:
        loops = tuple([self.comprehension_loop(generator) for generator in node.generators])
        return Comprehension(self.lower(node.elt), loops)

    def comprehension_loop(self, node: ast.comprehension) -> ComprehensionLoop:
        """Return one loop of a comprehension."""
        names = [target.id for target in ast.walk(node.target) if isinstance(target, ast.Name)]
        self.lower_all(node.ifs)  # for the calls in them
        return ComprehensionLoop(tuple(names), self.lower(node.iter), bool(node.ifs))

    def _dict_comprehension(self, node: ast.DictComp) -> Expr:
        return DictExpr(((self.lower(node.key), self.lower(node.value)),))  # its entries are alike

    def _named(self, node: ast.NamedExpr) -> Expr:
        value = self.lower(node.value)
        self._on_named(node.target.id, value, node.lineno)
        return value

    def _joined(self, node: ast.JoinedStr) -> Expr:
        for value in node.values:
            if isinstance(value, ast.FormattedValue) and not isinstance(value.value, ast.Name):
                self.lower(value.value)
        return Opaque("JoinedStr")

    def _await(self, node: ast.Await) -> Expr:
        self.lower(node.value)
        return Opaque("Await")


_LOWER: dict[type[ast.expr], Callable[[Lowering, Any], Expr]] = {
    ast.Constant: Lowering._constant,
    ast.Attribute: Lowering._attribute,
    ast.Subscript: Lowering._subscript,
    ast.Slice: Lowering._slice,
    ast.Call: Lowering._call,
    ast.BinOp: Lowering._binary,
    ast.UnaryOp: Lowering._unary,
    ast.Compare: Lowering._compare,
    ast.BoolOp: Lowering._bool,
    ast.IfExp: Lowering._if,
    ast.Tuple: Lowering._display,
    ast.List: Lowering._display,
    ast.Set: Lowering._display,
    ast.Starred: Lowering._star,
    ast.Dict: Lowering._dict,
    ast.Lambda: Lowering._lambda,
    ast.ListComp: Lowering._comprehension,
    ast.SetComp: Lowering._comprehension,
    ast.GeneratorExp: Lowering._comprehension,
    ast.DictComp: Lowering._dict_comprehension,
    ast.NamedExpr: Lowering._named,
    ast.JoinedStr: Lowering._joined,
    ast.Await: Lowering._await,
}


def lower_alone(node: ast.expr) -> Expr:
    """Lower an expression outside a function body: a default, a base class."""
    return Lowering(lambda node, call: None, lambda name, value, line: None).lower(node)


def annotation_word(node: ast.expr | None) -> str | None:
    """Return the last name of an annotation: `Tensor` for `torch.Tensor`, `int` for `Optional[int]`."""
    match node:
        case None:
            return None
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=str(text)):
            return text.rsplit(".", 1)[-1].strip()
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return annotation_word(inner)
        case ast.Subscript(value=base):
            return annotation_word(base)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return annotation_word(left) if annotation_word(left) not in (None, "None") else annotation_word(right)
        case _:
            return None


def allows_none(node: ast.expr | None) -> bool:
    """Return whether an annotation admits None: `Optional[int]`, `int | None`, `Any`; true without annotation."""
    match node:
        case None | ast.Constant(value=None):
            return True
        case ast.Constant(value=str(text)):
            return "None" in text or "Optional" in text
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in ("Any", "object", "None")
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            return name == "Optional" or (name in ("Union", "Annotated") and allows_none(inner))
        case ast.Tuple(elts=parts):
            return any(map(allows_none, parts))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return allows_none(left) or allows_none(right)
        case _:
            return False

"""Finds constexprs of a kernel that could be plain arguments, because an int32 in their place changes no type or value.

A constexpr adopts the type of what it meets, where an int32 widens 8 and 16 bits and makes a float32 of a bfloat16.
What is computed from constexprs alone follows Python's rules: unbounded integers, floored division, truth values. So
types are followed through the body, as far as the source tells them. What is not known to stay the same is refused.

Only fixes need this, so a kernel's body is read for it a second time.

Triton uses "is 1" and "is divisible by 16" of an integer for addresses and masks. A loop that counts by one discards
that, so an integer with no other use gains nothing from specialization.
"""

from __future__ import annotations

import ast
from enum import IntEnum
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.nesting import with_own_stack
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.compile_time_needs import is_of_language
from triton_doctor.static.python.functions import parse_alone
from triton_doctor.static.python.nodes import callee_name, names_in, names_in_all, parts
from triton_doctor.static.sources.source_text import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.static.python.module import Kernel

_COMPARING = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_COMPUTING = (ast.Add, ast.Sub, ast.Mult, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
_DIVIDING = (ast.FloorDiv, ast.Mod)
# The types at the heads of loops are settled after two or three walks through a body.
_MOST_WALKS = 12
# Kinds of nodes that bind names, or that form addresses, masks and values.
_TELLING_KINDS = frozenset({
    ast.Call, ast.Compare, ast.If, ast.While, ast.Return, ast.Subscript, ast.IfExp, ast.Assign, ast.AugAssign,
    ast.AnnAssign, ast.For,
})  # fmt: skip
_NUMBERS_OF_NUMBERS = frozenset({"range", "min", "max", "minimum", "maximum", "cdiv", "to"})


class _Type(IntEnum):
    """What is known of a type. For what results of two, see triton 3.9 language/semantic.py computation_type_impl.

    - `FOLDED`: that of a number which is known while compiling. `DATA`: any other.
    - `FLAG`: a pointer, an int1, or signed and of 32 bits or more. What follows has 32 bits or more.
    - `WIDE`: any such; if unsigned, `//` and `%` refuse it beside an int32. `SIGNED` integers. `FLOAT`.
    """

    FOLDED = 0
    DATA = 1
    FLAG = 2
    WIDE = 3
    SIGNED = 4
    FLOAT = 5


_TYPES = {
    "int1": _Type.FLAG, "int32": _Type.SIGNED, "int64": _Type.SIGNED, "uint32": _Type.WIDE, "uint64": _Type.WIDE,
    "float32": _Type.FLOAT, "float64": _Type.FLOAT,
}  # fmt: skip
# Annotations of plain parameters that do not set their type.
_UNTYPED = frozenset({None, "int", "float", "bool", "tensor", "Tensor", "const", "pointer_type"})
# Functions of float32 and float64 only (triton 3.9 language/math.py), and those that return positions.
_RESULTS = {
    **dict.fromkeys("exp exp2 log log2 sqrt sqrt_rn rsqrt sin cos erf".split(), _Type.FLOAT),
    **dict.fromkeys("arange program_id num_programs argmax argmin".split(), _Type.SIGNED),
}
# Functions whose result has the type of their tensor.
_KEEPING = frozenset("sum max min cumsum abs trans reshape view broadcast_to expand_dims zeros_like".split())
_DTYPE_POSITIONS = {"to": 0, "zeros": 1, "cast": 1, "full": 2}
# Arguments of these functions may be of either kind (triton 3.9 language/core.py make_block_ptr, advance).
_POINTED = {"make_block_ptr": frozenset({1, 2, 3, "shape", "strides", "offsets"}), "advance": frozenset({1, "offsets"})}


class _BodyValue(NamedTuple):
    """An abstract value. `roots` are the parameters that it may be folded from.

    `folds` if it may be known while compiling, as are constexprs and a plain argument of 1. `is_integer` if it is
    computed from `roots` and literals, so that an int32 holds it.
    """

    type: _Type
    folds: bool = False
    roots: frozenset[str] = frozenset()
    is_integer: bool = False


_UNKNOWN = _BodyValue(_Type.DATA, folds=True)
_NUMBER = _BodyValue(_Type.FOLDED, folds=True, is_integer=True)


class PlainConstexprs(NamedTuple):
    """Constexprs of a kernel: those in `plain` could be plain arguments.

    Those also in `steering` need no specialization either.
    """

    plain: frozenset[str]
    steering: frozenset[str]


@cached_in_scan(most=32)
def find_plain_constexprs(kernel: Kernel, source: bytes, pointers: frozenset[str]) -> PlainConstexprs:
    """Analyse the constexprs of `kernel`, read from `source`. Empty if the kernel is too deeply nested.

    `pointers` are parameters at which addresses begin.
    """
    try:
        return with_own_stack(_find_plain_constexprs, kernel, source, pointers)
    except RecursionError:
        return PlainConstexprs(frozenset(), frozenset())


def _find_plain_constexprs(kernel: Kernel, source: bytes, pointers: frozenset[str]) -> PlainConstexprs:
    node = definition_of(kernel, source)
    wanted = frozenset(param.name for param in kernel.params if param.is_constexpr) - kernel.uses.needed.keys()
    known: dict[str, _BodyValue] = {}
    for param in kernel.params:
        if param.name in wanted:
            known[param.name] = _NUMBER._replace(roots=frozenset({param.name}))
        elif param.is_constexpr:
            known[param.name] = _NUMBER._replace(is_integer=False)
        else:
            given = _Type.FLAG if param.annotation in _UNTYPED else _TYPES.get(param.annotation or "", _Type.DATA)
            known[param.name] = _BodyValue(given, folds=param.name not in pointers)
    plain = wanted - _PlainUses(wanted, known).refused_in(node.body)
    return PlainConstexprs(plain, steering_names(chain.from_iterable(map(parts, node.body)), plain))


def definition_of(kernel: Kernel, source: bytes) -> ast.FunctionDef:
    """Return the definition of `kernel`, parsed from `source`, the text of its file."""
    node = parse_alone(_lines(source), kernel.line, kernel.span.end_line)
    assert isinstance(node, ast.FunctionDef)
    return node


@cached_in_scan(most=1)
def _lines(source: bytes) -> SourceText:
    """Split a file into lines; cached, since kernels of one file are analysed one after the other."""
    return SourceText(source)


class _PlainUses:
    def __init__(self, wanted: frozenset[str], known: dict[str, _BodyValue]) -> None:
        self._wanted, self._known = wanted, known
        self._heads: dict[int, dict[str, _BodyValue]] = {}
        self._refused: set[str] = set()

    def refused_in(self, body: list[ast.stmt]) -> frozenset[str]:
        """Return the parameters that some use in `body` may need as constexprs."""
        given = self._known
        for _ in range(_MOST_WALKS):
            before, self._known = dict(self._heads), dict(given)
            self._block(body)
            if self._heads == before:
                return frozenset(self._refused)
        return self._wanted

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                for target, value in zip(targets, [self._of(expr) for expr in values], strict=True):
                    self._bind(target, value)
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, self._of(value))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                self._bind(target, self._operation(self._known.get(name, _UNKNOWN), op, self._of(value)))
            case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                self._refuse(self._of(value))
            case ast.For(target=target, iter=source):
                count = self._of(source)
                self._refuse(count)
                self._loop(node, target, count)
            case ast.While(test=test):
                self._loop(node, test, None)
            case ast.If(test=test, body=body, orelse=orelse):
                self._test(test)
                before = dict(self._known)
                self._block(body)
                after, self._known = self._known, before
                self._block(orelse)
                self._known = _joined(self._known, after)
            case ast.Pass() | ast.Return() | ast.Break() | ast.Continue():
                pass
            case _:
                self._refuse_all(node)

    def _loop(self, node: ast.For | ast.While, target: ast.expr, count: _BodyValue | None) -> None:
        head = self._heads[id(node)] = _joined(self._known, self._heads.get(id(node), {}))
        self._known = dict(head)
        if count is None:
            self._test(target)
        else:
            self._bind(target, count)
        self._block(node.body)
        self._heads[id(node)] = _joined(head, self._known)
        self._known = dict(self._heads[id(node)])
        self._block(node.orelse)

    def _test(self, test: ast.expr) -> None:
        """Read the test of a branch. Triton compiles one arm of a test that folds, and else both."""
        value = self._of(test)
        if value.type is _Type.FOLDED:
            self._refuse(value)

    def _refuse(self, *values: _BodyValue) -> None:
        self._refused.update(*(value.roots for value in values))

    def _refuse_all(self, node: ast.AST) -> _BodyValue:
        """Refuse the names in `node`, which is not followed, and forget those that it binds."""
        for name in names_in(node):
            self._refuse(self._known.get(name, _UNKNOWN))
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self._bind(part, _UNKNOWN)
        return _UNKNOWN

    def _bind(self, target: ast.expr, value: _BodyValue) -> None:
        """Assign `value`. Triton makes a tensor of a number; its interpreter does not, so that it may still fold."""
        if not isinstance(target, ast.Name):
            self._refuse(value)
            self._refuse_all(target)
            return
        if target.id in self._wanted:
            self._refused.add(target.id)
        if value.type is _Type.FOLDED:
            value = value._replace(type=_Type.SIGNED if value.is_integer else _Type.FLAG)
        self._known[target.id] = value

    def _of(self, node: ast.expr) -> _BodyValue:
        match node:
            case ast.Constant(value=value):
                return _NUMBER._replace(is_integer=type(value) is int and abs(value) < 2**31)
            case ast.Name(id=name):
                return self._known.get(name, _UNKNOWN)
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._operation(self._of(left), op, self._of(right))
            case ast.UnaryOp(op=ast.USub() | ast.Invert() as op, operand=operand):
                found = self._of(operand)
                if isinstance(op, ast.Invert) or not found.is_integer:
                    self._refuse(found)
                return found._replace(is_integer=False)
            case ast.Call():
                return self._call(node)
            case ast.Subscript(value=value, slice=index):
                found = self._of(value)
                self._refuse(found)
                self._refuse_all(index)
                return found._replace(roots=frozenset(), is_integer=False)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._refuse_all(test)
                arms = self._of(body), self._of(orelse)
                self._refuse(*arms)
                return _join(*arms)
            case _:
                return self._refuse_all(node)

    def _operation(self, left: _BodyValue, op: ast.AST, right: _BodyValue) -> _BodyValue:
        """Return the result of an operator. Refuse the roots of what an int32 would give another type or value.

        `/` is always refused: to divide by a constant, the compiler multiplies, which rounds otherwise.
        """
        compares, divides = isinstance(op, _COMPARING), isinstance(op, _DIVIDING)
        folds = left.folds and right.folds
        is_exact = left.is_integer and right.is_integer and (compares or (isinstance(op, ast.Sub) and not right.roots))
        # A plain argument of 1 folds too: where a larger one wraps in any case, but not where it would be rounded.
        is_argument = not divides and any(side.type is not _Type.FOLDED and not side.roots for side in (left, right))
        for operand, other in ((left, right), (right, left)):
            is_divided = divides and (
                other.type not in (_Type.FOLDED, _Type.FLAG, _Type.SIGNED) or not operand.is_integer
            )
            if other.type is _Type.DATA or is_divided:
                self._refuse(operand)
        if not (compares or divides or isinstance(op, _COMPUTING)) or (folds and not is_exact and not is_argument):
            self._refuse(left, right)
        if left.type is right.type is _Type.FOLDED:
            kind = _Type.FOLDED
        elif compares:
            kind = _Type.FLAG
        else:
            kind = _Type.FLOAT if isinstance(op, ast.Div) else _promoted(left, right)
        return _BodyValue(kind, folds, left.roots | right.roots if folds else frozenset(), is_exact and not compares)

    def _call(self, node: ast.Call) -> _BodyValue:
        func, callee = node.func, callee_name(node) or ""
        base = self._of(func.value) if isinstance(func, ast.Attribute) else None
        is_method = isinstance(func, ast.Attribute) and (
            not isinstance(func.value, ast.Name | ast.Attribute)
            or not self._known.keys().isdisjoint(names_in(func.value))
        )
        if base is not None and callee != "to":
            self._refuse(base)  # a constexpr has the method `to`, with the result that it has at run time
        given: dict[int | str | None, ast.expr] = {keyword.arg: keyword.value for keyword in node.keywords}
        given.update(enumerate(node.args))
        values: dict[int | str | None, _BodyValue] = {}
        for position, argument in given.items():
            if position in _POINTED.get(callee, ()) and isinstance(argument, ast.Tuple | ast.List):
                for item in argument.elts:
                    self._of(item)
            else:
                values[position] = self._of(argument)
        is_of_triton = is_of_language(func)
        is_pair = len(node.args) == len(given) == len(values) == 2
        if is_pair and (callee in ("min", "max") if base is None else is_of_triton):
            first, other = values[0], values[1]
            if callee == "cdiv":
                added = self._operation(first, ast.Add(), self._operation(other, ast.Sub(), _NUMBER))
                return self._operation(added, ast.FloorDiv(), other)
            if callee in ("min", "max", "minimum", "maximum"):
                # Python chooses of two constexprs by itself; `tl.minimum` makes tensors of them.
                return self._operation(first, ast.BitAnd() if base is None else ast.Sub(), other)
        if callee == "where" and is_of_triton and len(node.args) == len(given) == len(values) == 3:
            self._refuse(values[0])
            return self._operation(values[1], ast.Sub(), values[2])._replace(folds=False, roots=frozenset())
        for position, value in values.items():
            if callee != "range" or position not in (0, 1) or not value.is_integer:
                self._refuse(value)
        if callee == "range":
            is_signed = all(value.type in (_Type.FOLDED, _Type.FLAG, _Type.SIGNED) for value in values.values())
            return _BodyValue(_Type.SIGNED if is_signed else _Type.WIDE)
        if not (is_method or is_of_triton):
            return _UNKNOWN
        kept = base if is_method else values.get(0)
        dtype = given.get("dtype", given.get(_DTYPE_POSITIONS.get(callee)))
        if dtype is not None and (callee in _DTYPE_POSITIONS or callee in _KEEPING):
            return _BodyValue(_TYPES.get(dtype.attr if isinstance(dtype, ast.Attribute) else "", _Type.DATA))
        if callee == "dot" and given.keys() <= {0, 1, "allow_tf32", "input_precision"}:
            return _BodyValue(_Type.WIDE)
        if callee in _KEEPING and kept is not None and "return_indices" not in given:
            return _BodyValue(kept.type)
        return _BodyValue(_RESULTS[callee]) if callee in _RESULTS else _UNKNOWN


def _promoted(left: _BodyValue, right: _BodyValue) -> _Type:
    """Return the type of an arithmetic result. What folds leaves the type of the other as it is."""
    if left.folds != right.folds:
        return right.type if left.folds else left.type
    least, most = sorted((left.type, right.type))
    if least is _Type.DATA and most in (_Type.WIDE, _Type.SIGNED):
        return _Type.WIDE
    if (least, most) in ((_Type.DATA, _Type.FLAG), (_Type.WIDE, _Type.SIGNED)):
        return least
    return most


def _join(first: _BodyValue, other: _BodyValue) -> _BodyValue:
    """Return the value that is one of the two."""
    least, most = sorted((first.type, other.type))
    if least is not most and (least is _Type.FOLDED or (least is _Type.FLAG and most is _Type.WIDE)):
        least = _Type.DATA
    return _BodyValue(
        least, first.folds or other.folds, first.roots | other.roots, first.is_integer and other.is_integer
    )


def _joined(first: dict[str, _BodyValue], other: dict[str, _BodyValue]) -> dict[str, _BodyValue]:
    """Return what is known of each name where one of two paths was taken."""
    differing = ((name, value) for name, value in other.items() if first.get(name, value) is not value)
    return {**first, **other, **{name: _join(first[name], value) for name, value in differing}}


def steering_names(every: Iterable[ast.AST], wanted: frozenset[str]) -> frozenset[str]:
    """Return those of `wanted` that reach no address, mask or value. `every` are all parts of a kernel's body."""
    if not wanted:
        return wanted
    flows, telling = _gathered(every)
    return frozenset(name for name in wanted if _reached(name, flows).isdisjoint(telling))


def _reached(name: str, flows: list[tuple[set[str], set[str]]]) -> set[str]:
    """Return the names computed from `name`, including itself."""
    reached, before = {name}, 0
    while len(reached) > before:
        before = len(reached)
        for targets, sources in flows:
            if not sources.isdisjoint(reached):
                reached |= targets
    return reached


def _gathered(every: Iterable[ast.AST]) -> tuple[list[tuple[set[str], set[str]]], set[str]]:
    """Return the data flow between names, and the names used for addresses, masks and values.

    Those are arguments of calls that are not pure number functions, and comparisons that are not a branch's test.
    """
    flows: list[tuple[set[str], set[str]]] = []
    telling: list[ast.AST] = []
    comparisons: list[ast.Compare] = []
    tests: set[int] = set()
    for part in every:
        kind = type(part)
        if kind not in _TELLING_KINDS:
            continue
        if kind is ast.Call:
            telling += _telling(part)  # type: ignore[arg-type]
        elif kind is ast.Compare:
            comparisons.append(part)  # type: ignore[arg-type]
        elif kind in (ast.If, ast.While):
            tests.update(id(inner) for inner in parts(part.test) if type(inner) is ast.Compare)  # type: ignore[attr-defined]
        elif kind in (ast.Return, ast.Subscript, ast.IfExp):
            telling.append(part)
        elif kind is ast.Assign:
            targets = set[str]().union(*(_names(target) for target in part.targets))  # type: ignore[attr-defined]
            flows.append((targets, _names(part.value)))  # type: ignore[attr-defined]
        elif kind in (ast.AugAssign, ast.AnnAssign):
            flows.append((_names(part.target), _names(part.value)))  # type: ignore[attr-defined]
        elif kind is ast.For:
            flows.append((_names(part.target), _names(_beginning(part))))  # type: ignore[attr-defined, arg-type]
    telling += (comparison for comparison in comparisons if id(comparison) not in tests)
    return flows, set(names_in_all(telling))


def _telling(call: ast.Call) -> Iterator[ast.AST]:
    if callee_name(call) not in _NUMBERS_OF_NUMBERS:
        yield from call.args
        yield from (keyword.value for keyword in call.keywords)


def _beginning(loop: ast.For) -> ast.AST | None:
    """Return the part of a loop's iterable that affects addresses.

    The start of a range that has a step; nothing of a range without; anything else whole.
    """
    if not isinstance(loop.iter, ast.Call):
        return loop.iter
    return loop.iter.args[0] if len(loop.iter.args) > 2 else None


def _names(node: ast.AST | None) -> set[str]:
    return set(names_in(node)) if node is not None else set()

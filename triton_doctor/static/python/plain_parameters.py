"""Finds constexprs of a kernel that could be plain arguments: no use of them needs a compile-time value.

A number known at compile time follows Python's rules: big integers, exact division, floored division of negatives,
truth values. Uses that are not known to give the same at run time count as needing a constexpr.

Only fixes need this, so a kernel's body is read for it a second time.
"""

from __future__ import annotations

import ast
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.nesting import with_own_stack
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.functions import parse_alone
from triton_doctor.static.python.nodes import callee_name, names_in, parts
from triton_doctor.static.python.steering import steering_names
from triton_doctor.static.sources.source_text import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.static.python.module import Kernel

# Operators with the same result for non-negative integers at compile time and on the GPU.
_ALIKE = (ast.Add, ast.Sub, ast.FloorDiv, ast.Mod, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
# A product of two sizes may exceed 2**31: Python's grows, the GPU's wraps. A product with a literal is as safe as the
# size itself.
_GROWING = (ast.Mult, ast.LShift)
# Functions that accept compile-time and run-time numbers alike.
_ARITHMETIC = frozenset({"cdiv", "minimum", "maximum", "min", "max"})
# Functions whose arguments must be compile-time numbers, as is the result.
_COMPILE_TIME = frozenset({"constexpr", "next_power_of_2", "static_range", "int", "float", "bool", "len"})
# Arguments of these functions may be of either kind (triton 3.9 language/core.py make_block_ptr, advance).
_POINTED = {"make_block_ptr": frozenset({1, 2, 3, "shape", "strides", "offsets"}), "advance": frozenset({1, "offsets"})}


class PlainConstexprs(NamedTuple):
    """Constexprs of a kernel: those in `plain` could be plain arguments.

    Those also in `steering` need no specialization either.
    """

    plain: frozenset[str]
    steering: frozenset[str]


@cached_in_scan(most=32)
def find_plain_constexprs(kernel: Kernel, source: bytes) -> PlainConstexprs:
    """Analyse the constexprs of `kernel`, read from `source`. Empty if the kernel is too deeply nested."""
    try:
        return with_own_stack(_find_plain_constexprs, kernel, source)
    except RecursionError:
        return PlainConstexprs(frozenset(), frozenset())


def _find_plain_constexprs(kernel: Kernel, source: bytes) -> PlainConstexprs:
    node = definition_of(kernel, source)
    constexprs = frozenset(param.name for param in kernel.params if param.is_constexpr)
    every = tuple(chain.from_iterable(map(parts, node.body)))
    plain = plain_names(node, every, constexprs - kernel.uses.needed.keys(), constexprs)
    return PlainConstexprs(plain, steering_names(every, plain))


def definition_of(kernel: Kernel, source: bytes) -> ast.FunctionDef:
    """Return the definition of `kernel`, parsed from `source`, the text of its file."""
    node = parse_alone(_lines(source), kernel.line, kernel.span.end_line)
    assert isinstance(node, ast.FunctionDef)
    return node


@cached_in_scan(most=1)
def _lines(source: bytes) -> SourceText:
    """Split a file into lines; cached, since kernels of one file are analysed one after the other."""
    return SourceText(source)


class _BodyValue(NamedTuple):
    """An abstract value: known only at run time, or else computed from the parameters `roots` and constants."""

    at_run_time: bool
    roots: frozenset[str] = frozenset()


_RUN_TIME = _BodyValue(True)
_CONSTANT = _BodyValue(False)


def plain_names(
    node: ast.FunctionDef, every: Iterable[ast.AST], wanted: frozenset[str], constexprs: frozenset[str]
) -> frozenset[str]:
    """Return those of `wanted`, constexprs of the kernel `node`, that could be plain arguments.

    `every` are all `parts` of its body.
    """
    if not wanted:
        return wanted
    args = node.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    uses = _PlainUses(wanted, {name: _CONSTANT if name in constexprs else _RUN_TIME for name in names}, every)
    for statement in node.body:
        uses.statement(statement)
    return wanted - uses.refused


class _PlainUses:
    def __init__(self, wanted: frozenset[str], known: dict[str, _BodyValue], every: Iterable[ast.AST]) -> None:
        self.refused: set[str] = set()
        self._known = {**known, **{name: _BodyValue(False, frozenset({name})) for name in wanted}}
        self._wanted = wanted
        self._bound = Counter(part.id for part in every if type(part) is ast.Name and type(part.ctx) is ast.Store)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.AugAssign(target=target, value=value):
                added = self._of(value)
                if not self._of_target(target).at_run_time:
                    self._refuse(added)
                    self._refuse_all(target)
            case ast.Expr(value=value):
                self._refuse(self._of(value))
            case ast.For(target=target, iter=source, body=body, orelse=orelse):
                self._refuse(self._of(source))
                self._bind(target, _RUN_TIME)
                self._block(body + orelse)
            case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
                self._refuse(self._of(test))
                self._block(body + orelse)
            case ast.Return(value=ast.expr() as value):
                self._refuse(self._of(value))
            case ast.Pass() | ast.Return() | ast.Break() | ast.Continue():
                pass
            case _:
                self._refuse_all(node)

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def _refuse(self, value: _BodyValue) -> None:
        self.refused |= value.roots

    def _refuse_all(self, node: ast.AST) -> _BodyValue:
        for name in names_in(node):
            self._refuse(self._known.get(name, _CONSTANT))
        return _CONSTANT

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                for one, its in zip(targets, values, strict=True):
                    self._assign(one, its)
            case ast.Name(), _:
                self._bind(target, self._of(value))
            case _:
                self._refuse(self._of(value))
                self._bind(target, _CONSTANT)

    def _bind(self, target: ast.expr, value: _BodyValue) -> None:
        if not isinstance(target, ast.Name):
            self._refuse_all(target)
            return
        name = target.id
        if name in self._wanted:
            self.refused.add(name)
        elif self._bound.get(name, 0) > 1 and not value.at_run_time:
            # The new value and its type are not followed.
            self._refuse(value)
            self._known[name] = _CONSTANT
        elif self._known.get(name, value).at_run_time or self._bound.get(name, 0) <= 1:
            self._known[name] = value

    def _of_target(self, target: ast.expr) -> _BodyValue:
        return self._known.get(target.id, _CONSTANT) if isinstance(target, ast.Name) else self._of(target)

    def _of(self, node: ast.expr) -> _BodyValue:
        match node:
            case ast.Constant():
                return _CONSTANT
            case ast.Name(id=name):
                return self._known.get(name, _CONSTANT)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(left, op, right)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=operand):
                return self._of(operand)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._comparison(ops, [self._of(one) for one in (left, *others)])
            case ast.Call():
                return self._call(node)
            case ast.Subscript(value=value, slice=index):
                self._refuse(self._of(index))
                found = self._of(value)
                self._refuse(found)
                return _BodyValue(found.at_run_time)
            case ast.Slice():
                return self._refuse_all(node)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for item in items:
                    self._refuse(self._of(item))
                return _CONSTANT
            case ast.Attribute(value=value):
                self._refuse(self._of(value))
                return _CONSTANT
            case _:
                return self._refuse_all(node)

    def _operation(self, left: ast.expr, op: ast.operator, right: ast.expr) -> _BodyValue:
        one, other = self._of(left), self._of(right)
        if one.at_run_time or other.at_run_time:
            return _RUN_TIME
        both = _BodyValue(False, one.roots | other.roots)
        alike = isinstance(op, _ALIKE)
        if isinstance(op, ast.FloorDiv | ast.Mod):
            alike = not any(isinstance(part, ast.Sub | ast.USub) for part in (*ast.walk(left), *ast.walk(right)))
        elif isinstance(op, _GROWING):
            alike = isinstance(left, ast.Constant) or isinstance(right, ast.Constant)
        if not alike:
            self._refuse(both)
        return both

    def _comparison(self, ops: list[ast.cmpop], values: list[_BodyValue]) -> _BodyValue:
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in ops) or len(values) > 2:
            for value in values:
                self._refuse(value)
            return _CONSTANT
        if any(value.at_run_time for value in values):
            return _RUN_TIME
        return _BodyValue(False, frozenset[str]().union(*(value.roots for value in values)))

    def _call(self, node: ast.Call) -> _BodyValue:
        func, by_name = node.func, isinstance(node.func, ast.Name)
        callee = callee_name(node) or ""
        if callee == "to" and isinstance(func, ast.Attribute):
            self._of(func.value)  # a constexpr has this method too, with the result that it has at run time
        elif isinstance(func, ast.Attribute):
            self._refuse(self._of(func.value))
        given: list[tuple[int | str | None, ast.expr]] = [
            *enumerate(node.args),
            *((keyword.arg, keyword.value) for keyword in node.keywords),
        ]
        values = []
        for position, argument in given:
            if position in _POINTED.get(callee, ()) and isinstance(argument, ast.Tuple | ast.List):
                for item in argument.elts:
                    self._of(item)
                continue
            value = self._of(argument)
            values.append(value)
            if callee not in _ARITHMETIC and not (callee == "range" and isinstance(position, int)):
                self._refuse(value)
        if callee in _ARITHMETIC:
            at_run_time = any(value.at_run_time for value in values)
            return (
                _RUN_TIME if at_run_time else _BodyValue(False, frozenset[str]().union(*(one.roots for one in values)))
            )
        if callee in _COMPILE_TIME or callee == "range":
            return _CONSTANT
        # A function of triton.language returns a tensor; any other callable returns its argument's kind.
        return _RUN_TIME if not by_name or any(value.at_run_time for value in values) else _CONSTANT

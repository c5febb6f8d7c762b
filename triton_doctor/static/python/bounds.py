"""Tests in host functions to the bounds that they imply: `n > 32`, where it does not hold, bounds `n` by 32."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.conditions import given_name
from triton_doctor.static.python.ir import Call, Name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from triton_doctor.static.python.function import AssertedBound, BranchArm, BranchTest, Function


def name_of_rank(tensor: str) -> str:
    """Return the name under which bounds speak of the number of axes of `tensor`."""
    return f"{tensor}.ndim"


class Bounded(NamedTuple):
    """A bound: a name, or one axis of its shape, is at most `high`, or one of `choices`.

    It is exactly `high` if `is_equal`. It holds only if none of the names `given` is None.
    """

    name: str
    axis: int | None
    high: ast.expr | None
    choices: tuple[int, ...] = ()
    given: tuple[str, ...] = ()
    is_equal: bool = False


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.NotEq: ast.Eq,
    ast.NotIn: ast.In,
}


def limits_of(test: ast.expr, *, holds: bool) -> Iterator[Bounded]:
    """Yield the bounds on names and axes that `test` implies if it `holds`, or if it does not."""
    match test:
        case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.And) is holds:
            for part in parts:
                yield from limits_of(part, holds=holds)
        case ast.BoolOp(values=parts):
            yield from _limits_given(parts, holds=holds) or _alternatives(parts, holds=holds)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from limits_of(operand, holds=not holds)
        case ast.Compare(left=first, ops=ops, comparators=rest) if holds or len(ops) == 1:
            for left, comparison, right in zip([first, *rest], ops, rest, strict=False):
                kind = type(comparison) if holds else _OPPOSITE.get(type(comparison))
                if kind is not None:
                    yield from _compared(left, kind, right)
        case _:
            pass


def _limits_given(parts: list[ast.expr], *, holds: bool) -> list[Bounded]:
    """Return the bound from several tests of which only one is certain, if all others are "is not None" tests.

    `if lengths is not None and batch != 1: raise` implies that `batch` is 1 if `lengths` is not None.
    """
    given = [given_name(part, holds=not holds) for part in parts]
    others = [part for part, name in zip(parts, given, strict=True) if name is None]
    if len(others) != 1:
        return []
    names = tuple(name for name in given if name is not None)
    return [bounded._replace(given=names) for bounded in limits_of(others[0], holds=holds)]


def _alternatives(parts: list[ast.expr], *, holds: bool) -> list[Bounded]:
    """Return the bound from several tests of one name of which one holds: `n == 1 or n == width`."""
    found = [[*limits_of(part, holds=holds)] for part in parts]
    single = [bounds[0] for bounds in found if len(bounds) == 1]
    if len(single) < len(parts) or len({(bound.name, bound.axis, bound.given) for bound in single}) > 1:
        return []
    choices = tuple(choice for bound in single for choice in bound.choices)
    sizes = [bound.high for bound in single if bound.high is not None and bound.is_equal]
    if not choices or len(sizes) + sum(bool(bound.choices) for bound in single) < len(single):
        return []
    if not sizes:
        return [single[0]._replace(choices=tuple(dict.fromkeys(choices)))]
    either: ast.expr = ast.Constant(choices[0])
    for size in (*map(ast.Constant, choices[1:]), *sizes):
        either = ast.IfExp(ast.Constant(...), either, size)
    return [single[0]._replace(high=either, choices=(), is_equal=True)]


def _compared(left: ast.expr, op: type[ast.cmpop], right: ast.expr) -> Iterator[Bounded]:
    if op in (ast.Gt, ast.GtE):
        left, right = right, left
        op = ast.LtE
    if op is ast.Eq and (shape := _tensor_of_shape(left)) is not None:
        yield from _same_shape(shape, right)
        return
    if op is ast.Eq and _subject(left) is None:
        left, right = right, left
    factor = 1
    if op in (ast.Lt, ast.LtE):
        left, factor = _without_factor(left)
        if isinstance(right, ast.Call) and isinstance(right.func, ast.Name) and right.func.id == "int":
            right = right.args[0] if len(right.args) == 1 else right
    subject = _subject(left)
    if subject is None:
        return
    if op in (ast.Lt, ast.LtE):
        if not isinstance(right, ast.Call):
            yield Bounded(*subject, right if factor == 1 else ast.BinOp(right, ast.FloorDiv(), ast.Constant(factor)))
    elif op is ast.Eq and (number := _number(right)) is not None:
        yield Bounded(*subject, None, (number,))
    elif op is ast.Eq and _is_computed(right):
        yield Bounded(*subject, right, is_equal=True)
    elif op is ast.In and isinstance(right, ast.Tuple | ast.List | ast.Set):
        numbers = [_number(element) for element in right.elts]
        known = tuple(number for number in numbers if number is not None)
        if known and len(known) == len(numbers):
            yield Bounded(*subject, None, known)


def _without_factor(node: ast.expr) -> tuple[ast.expr, int]:
    """Return `n` and 4 for `n * 4`; the whole expression and 1 if no positive literal multiplies it."""
    match node:
        case ast.BinOp(left=operand, op=ast.Mult(), right=ast.Constant(value=int(factor))) if factor > 0:
            return operand, factor
        case ast.BinOp(left=ast.Constant(value=int(factor)), op=ast.Mult(), right=operand) if factor > 0:
            return operand, factor
    return node, 1


def _same_shape(tensor: str, sizes: ast.expr) -> Iterator[Bounded]:
    """Yield bounds from `x.shape == (batch, 1, width)`: each axis equals the size at its position."""
    if isinstance(sizes, ast.Call) and len(sizes.args) == 1:
        sizes = sizes.args[0]  # `torch.Size([batch, width])`
    if not isinstance(sizes, ast.Tuple | ast.List):
        return
    for axis, size in enumerate(sizes.elts):
        if isinstance(size, ast.Starred):
            return
        if (number := _number(size)) is not None:
            yield Bounded(tensor, axis, None, (number,))
        elif _is_computed(size):
            yield Bounded(tensor, axis, size, is_equal=True)


def _tensor_of_shape(node: ast.expr) -> str | None:
    """Return `x` for `x.shape` and for `x.size()`."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[]):
            return name
        case _:
            return None


def _is_computed(node: ast.expr) -> bool:
    """Return whether `node` is a name, an attribute, or a sum or product of those and literals."""
    match node:
        case ast.Name() | ast.Constant(value=int()):
            return True
        case ast.Attribute(value=base):
            return _is_computed(base)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv(), right=right):
            return _is_computed(left) and _is_computed(right)
        case _:
            return False


def _number(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _subject(node: ast.expr) -> tuple[str, int | None] | None:
    """Return the bounded name, with the axis for `x.shape[0]` and `x.size(0)`; the name of the rank for `x.dim()`."""
    match node:
        case (
            ast.Attribute(value=ast.Name(id=name), attr="ndim")
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="dim"), args=[])
            | ast.Call(func=ast.Name(id="len"), args=[ast.Attribute(value=ast.Name(id=name), attr="shape")])
        ):
            return name_of_rank(name), None
        case ast.Name(id=name):
            return name, None
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=int(axis))
        ):
            return name, axis
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[ast.Constant(value=int(axis))]):
            return name, axis
        case _:
            return None


@cached_in_scan()
def bounds_of_integers(function: Function) -> Mapping[str, tuple[AssertedBound, ...]]:
    """Return the bounds in `function`, by name. A bound of `n` inside `if isinstance(n, int):` holds outside of it too.

    What is no integer there is a symbolic size of a trace, for which Triton compiles nothing.
    """
    limits, tests = function.limits, function.text.contents.tests
    if not limits or not function.holds(b"isinstance"):
        return limits
    return {
        name: tuple(
            limit._replace(arms=tuple(arm for arm in limit.arms if not _tests_integer(arm, tests, name)))
            for limit in of_name
        )
        for name, of_name in limits.items()
    }


def _tests_integer(arm: BranchArm, tests: Mapping[int, BranchTest], name: str) -> bool:
    """Return whether `arm` is exactly the test `isinstance(name, int)`."""
    test = tests.get(arm.branch)
    return arm.side == 0 and test is not None and test.test == Call(Name("isinstance"), (Name(name), Name("int")), ())

"""Whether a `tl.static_range` over a constexpr may become a `range` over a plain argument.

An unrolled loop knows its variable while it compiles, may return, and may give a name another type or shape in each
round. Triton rejects all of that in a `range` (triton 3.9 code_generator.py visit_For). What is not known to be
allowed there counts as an obstacle.

Only remedies need this, so a kernel's body is read for it a second time.
"""

from __future__ import annotations

import ast
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.nesting import with_own_stack
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.compile_time_needs import needs_of
from triton_doctor.static.python.nodes import ARITHMETIC, callee_name, is_unrolled, names_in, names_in_all, parts
from triton_doctor.static.python.plain_parameters import definition_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.static.python.functions import Definition
    from triton_doctor.static.python.module import Kernel

# Functions that take a number of run time wherever `needs_of` names no need.
_AT_RUN_TIME = frozenset(
    "load store atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor where minimum "
    "maximum min max cdiv range exp exp2 log log2 sqrt rsqrt sin cos abs fma dot full make_block_ptr advance".split()
)
_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr,
    ast.BitXor,
)  # fmt: skip
_KNOWN_ALONE = (ast.Assert, ast.BoolOp, ast.JoinedStr, ast.IfExp, ast.While)
_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class RangeObstacles(NamedTuple):
    """What may keep unrolled loops from becoming loops over `range`; false if nothing does.

    `carried` are the names that a loop assigns, and that may not have one type and shape before the loop and in it.
    `is_known` if the body may need the constexpr or the loop's variable at compile time.
    """

    carried: tuple[str, ...] = ()
    is_known: bool = False

    def __bool__(self) -> bool:
        """Return whether anything may keep a loop unrolled."""
        return self.is_known or bool(self.carried)


@cached_in_scan(most=32)
def find_range_obstacles(kernel: Kernel, source: bytes, name: str) -> RangeObstacles:
    """Return what may keep the loops of `kernel` over its constexpr `name` from becoming loops over `range`."""
    try:
        return with_own_stack(_find_obstacles, kernel, source, name)
    except RecursionError:
        return RangeObstacles(is_known=True)


def _find_obstacles(kernel: Kernel, source: bytes, name: str) -> RangeObstacles:
    node = definition_of(kernel, source)
    every = tuple(chain.from_iterable(map(parts, node.body)))
    reached = _computed_from({name}, every)
    loops = [
        loop for loop in every if isinstance(loop, ast.For) and is_unrolled(loop.iter) and _mentions(loop.iter, reached)
    ]
    if not loops or not all(_is_a_range(loop, reached) for loop in loops):
        return RangeObstacles(is_known=True)  # a function that the kernel calls has the loop
    known = _computed_from({name, *names_in_all(loop.target for loop in loops)}, every)
    ranges = {id(loop.iter) for loop in loops}
    needed = any(_needs(part, known, ranges) for part in every) or any(_returns(loop) for loop in loops)
    carried = dict.fromkeys(name for loop in loops for name in _carried(node, loop))
    return RangeObstacles(tuple(carried), needed)


def _computed_from(names: set[str], every: Iterable[ast.AST]) -> frozenset[str]:
    """Return `names` and the locals that are computed from them by arithmetic alone."""
    flows = [
        ({*names_in_all(part.targets)} if isinstance(part, ast.Assign) else {*names_in(part.target)}, part.value)
        for part in every
        if isinstance(part, ast.Assign | ast.AugAssign | ast.AnnAssign) and part.value is not None
    ]
    found, before = set(names), 0
    while len(found) > before:
        before = len(found)
        for targets, value in flows:
            if not found.isdisjoint(names_in(value)) and not any(
                isinstance(part, ast.Call) and callee_name(part) not in ARITHMETIC for part in parts(value)
            ):
                found |= targets
    return frozenset(found)


def _is_a_range(loop: ast.For, reached: frozenset[str]) -> bool:
    """Return whether the arguments of the unrolled loop are those of a `range` with a step of known sign."""
    assert isinstance(loop.iter, ast.Call)
    return not loop.iter.keywords and not loop.orelse and reached.isdisjoint(names_in_all(loop.iter.args[2:]))


def _needs(part: ast.AST, known: frozenset[str], ranges: set[int]) -> bool:
    """Return whether `part` of a body may need one of the names `known` at compile time."""
    match part:
        case ast.Call() if id(part) not in ranges:
            return _call_needs(part, known)
        case ast.If(test, body, orelse):
            return _mentions(test, known) and not all(isinstance(statement, ast.Expr) for statement in (*body, *orelse))
        case ast.AnnAssign(value=ast.expr() as value):
            return _mentions(value, known)
        case ast.Subscript(value, index):
            return _mentions(index, known) or (isinstance(value, ast.Name) and value.id in known)
        case ast.Attribute(ast.Name(base)):
            return base in known
        case ast.BinOp(op=op) if not isinstance(op, _OPERATORS):
            return _mentions(part, known)
        case ast.Compare(ops=ops) if any(isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot) for op in ops):
            return _mentions(part, known)
        case ast.UnaryOp(op=ast.Not()):
            return _mentions(part, known)
        case _:
            return isinstance(part, _SCOPES) or (isinstance(part, _KNOWN_ALONE) and _mentions(part, known))


def _call_needs(call: ast.Call, known: frozenset[str]) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not any(_mentions(value, known) for value in given):
        return False
    callee = callee_name(call)
    return callee not in _AT_RUN_TIME or any(_mentions(value, known) for value, _ in needs_of(call, callee))


def _mentions(node: ast.AST, names: frozenset[str]) -> bool:
    return not names.isdisjoint(names_in(node))


def _returns(loop: ast.For) -> bool:
    return any(isinstance(part, ast.Return) for part in parts(loop))


def _carried(node: Definition, loop: ast.For) -> Sequence[str]:
    """Return the names that the loop assigns and that live outside it, without those of certainly one type."""
    inside = {id(part) for part in parts(loop)}
    targets = {part.id for part in parts(loop.target) if isinstance(part, ast.Name)}
    body = list(chain.from_iterable(map(parts, loop.body)))
    bound = dict.fromkeys(part.id for part in body if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    every = list(chain.from_iterable(map(parts, node.body)))
    outside = {part.id for part in every if isinstance(part, ast.Name) and id(part) not in inside}
    outside |= {argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    return [name for name in bound if name in outside and name not in targets and not _keeps_its_type(name, body)]


def _keeps_its_type(name: str, body: Sequence[ast.AST]) -> bool:
    """Return whether the loop only moves the block pointer `name`, or adds products to it."""
    stores = sum(
        isinstance(statement, ast.Name) and isinstance(statement.ctx, ast.Store) and statement.id == name
        for statement in body
    )
    return stores == sum(
        isinstance(statement, ast.Assign)
        and names_in_all(statement.targets) == [name]
        and _renews(statement.value, name)
        for statement in body
    )


def _renews(value: ast.expr, name: str) -> bool:
    """Return whether it is `tl.advance(name, ...)`, or a `tl.dot` that adds to `name`: both keep its type."""
    match value:
        case ast.Call(args=[ast.Name(first), *_]) if callee_name(value) == "advance":
            return first == name
        case ast.Call(args=[_, _, ast.Name(total)], keywords=[]) if callee_name(value) == "dot":
            return total == name
        case _:
            return False

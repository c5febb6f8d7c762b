"""Constexprs that follow from others of their kernel: `n * block` beside `n`, a stride beside its axes.

A constexpr computed only from others adds no variants of its own. This shows in its size as a product of axes, or in
the expressions at the launch. Others merely vary with the same size, and create variants alone: `companions`.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.limits import MOST_NAMES
from triton_doctor.static.python.ir import Attr, BinaryOp, Call, Const, Expr, Name
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.parameters import parameters
from triton_doctor.static.variability.values.dims import Dim, RemainingDims
from triton_doctor.static.variability.values.lattice import Variability
from triton_doctor.static.variability.values.values import ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import BranchArm
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.queries.parameters import Parameter, ParameterSource
    from triton_doctor.static.variability.values.dims import DimFactor

# Pure functions: the members of these modules, and these builtins.
_PURE_MODULES = frozenset({"triton", "math"})
_PURE = frozenset({"int", "min", "max", "abs"})


def followed_names(project: Project, parameter: Parameter) -> tuple[str, ...]:
    """Return the per-call constexprs that `parameter` follows from, at the launch of its worst value."""
    return _followed(project).get((parameter.kernel.key, parameter.param.name), ())


def axes_of(factors: Iterable[DimFactor]) -> Iterator[DimFactor]:
    """Yield `factors` as single axes if their number is known: after `B, H, W = x.shape`, all of `x` are three."""
    for factor in factors:
        if isinstance(factor, RemainingDims) and factor.root.rank is not None:
            yield from (Dim(factor.root, at) for at in range(factor.front, factor.root.rank - factor.back))
        else:
            yield factor


@cached_in_scan(most=1)
def _constexprs(project: Project) -> Mapping[tuple[str, str, int], Sequence[Parameter]]:
    """Return the constexprs of each kernel, by its key."""
    every = groupby(parameters(project), key=lambda parameter: parameter.kernel.key)
    return {key: [parameter for parameter in of_kernel if parameter.param.is_constexpr] for key, of_kernel in every}


@cached_in_scan(most=1)
def _followed(project: Project) -> Mapping[tuple[tuple[str, str, int], str], tuple[str, ...]]:
    found = {}
    for key, constexprs in _constexprs(project).items():
        for position, constexpr in enumerate(constexprs):
            if constexpr.worst is not None and constexpr.worst.kind is Variability.PER_CALL:
                names = _names(interpreter_of(project), constexpr, constexprs, position)
                if names:
                    found[key, constexpr.param.name] = names
    return found


class _GivenParameter(NamedTuple):
    """The value of the constexpr `name` at a launch; `is_before` if it precedes the parameter in question."""

    name: str
    source: ParameterSource
    is_before: bool


def _names(
    interpreter: Interpreter, parameter: Parameter, constexprs: Sequence[Parameter], position: int
) -> tuple[str, ...]:
    own = parameter.worst
    if own is None:
        return ()
    others = [
        _GivenParameter(other.param.name, source, at < position)
        for at, other in enumerate(constexprs)
        if other is not parameter
        for source in other.sources
        if source.launch is own.launch and source.expr is not None
    ]
    used = _by_size(own, others)
    if used is None and own.expr is not None:
        used = _Expressions(interpreter, own.launch, others).needed(own.expr)
    changing = [operand.name for operand in used or () if operand.source.kind is Variability.PER_CALL]
    return tuple(dict.fromkeys(changing))


def _by_size(own: ParameterSource, others: Sequence[_GivenParameter]) -> list[_GivenParameter] | None:
    """Return the parameters whose axes make up the size of `own`; None if one of its axes is in none of them."""
    size = own.number.size
    if size is None or not size.over:
        return None
    single = {
        other.source.number.size.over[0]: other
        for other in reversed(others)
        if other.source.number.size is not None
        and (len(other.source.number.size.over), other.source.number.size.under) == (1, ())
        and (other.source.number.size != size or other.is_before)
    }
    factors = (*axes_of(size.over), *size.under)
    return [single[factor] for factor in factors] if all(factor in single for factor in factors) else None


class _Expressions:
    """Follows the expression of one argument back to other arguments of its launch."""

    def __init__(self, interpreter: Interpreter, launch: LinkedLaunch, others: Sequence[_GivenParameter]) -> None:
        self._interpreter = interpreter
        self._launch = launch
        self._others = others
        self._is_whole = True

    def needed(self, expr: Expr) -> list[_GivenParameter] | None:
        """Return the arguments that `expr`, at the launch, is computed from; None if anything else in it varies."""
        launch = self._launch.launch
        found = list(self._found(expr, launch.order, launch.arms, MOST_NAMES))
        return found if self._is_whole else None

    def _found(self, expr: Expr, order: int, arms: tuple[BranchArm, ...], steps: int) -> Iterator[_GivenParameter]:
        given = self._given(expr, order, arms, is_whole=steps == MOST_NAMES)
        if given is not None:
            yield given
            return
        parts: tuple[Expr, ...] | None = None
        match expr:
            case Const():
                return
            case BinaryOp(_, operands) if steps > 0:
                parts = operands
            case Call(func, args, ()) if steps > 0 and args and self._is_pure(func):
                parts = args
            case Name(name) if steps > 0:
                bound = reaching_definitions(self._launch.function, name, order, arms)
                if bound.certain and len(bound.bindings) == 1:
                    (only,) = bound.bindings
                    yield from self._found(only.value, only.order, only.arms, steps - 1)
                    return
            case _:
                pass
        if parts is None:
            self._is_whole = self._is_whole and self._lasts(expr, order, arms)
            return
        for part in parts:
            yield from self._found(part, order, arms, steps - 1)

    def _lasts(self, expr: Expr, order: int, arms: tuple[BranchArm, ...]) -> bool:
        """Return whether it has one value while the program runs."""
        number = self._interpreter.number(expr, ProgramPoint(self._interpreter.at(self._launch).frame, order, arms))
        return number.decide() in (Variability.FIXED, Variability.PER_MODEL)

    def _given(self, expr: Expr, order: int, arms: tuple[BranchArm, ...], *, is_whole: bool) -> _GivenParameter | None:
        """Return the other argument that equals `expr`.

        With `is_whole`, the two are equal, and the first in order counts.
        """
        if isinstance(expr, Const):
            return None
        found = next(
            (other for other in self._others if other.source.expr == expr and (other.is_before or not is_whole)), None
        )
        return found if found is not None and self._means_the_same(expr, order, arms) else None

    def _means_the_same(self, expr: Expr, order: int, arms: tuple[BranchArm, ...]) -> bool:
        """Return whether the name `expr` has the same value here as at the launch.

        Other expressions count only at the launch.
        """
        launch = self._launch.launch
        if order == launch.order:
            return True
        if not isinstance(expr, Name):
            return False
        function = self._launch.function
        then = reaching_definitions(function, expr.id, order, arms)
        now = reaching_definitions(function, expr.id, launch.order, launch.arms)
        return then == now and (then.certain or not then.bindings)

    def _is_pure(self, func: Expr) -> bool:
        match func:
            case Name(name):
                imported = self._launch.module.imports.get(name)
                return imported.module in _PURE_MODULES if imported is not None else name in _PURE
            case Attr(Name(base), _):
                imported = self._launch.module.imports.get(base)
                return imported is not None and imported.member is None and imported.module in _PURE_MODULES
            case _:
                return False

"""Hints on the arguments of a launch, from the kernel and the grid; and the shared interpreter."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from triton_doctor.nesting import with_own_stack
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Name
from triton_doctor.static.variability.hints.axis_context import MANY_AXES, AxisContext, Side
from triton_doctor.static.variability.hints.hints import TOTAL, apply_hints
from triton_doctor.static.variability.hints.name_words import (
    names_attended,
    names_block,
    names_data,
    names_model,
    names_part,
    others_of,
)
from triton_doctor.static.variability.interpreter.interpreter import Interpreter
from triton_doctor.static.variability.notes.axis_names import named_axes
from triton_doctor.static.variability.notes.kernel_notes import described_as_data
from triton_doctor.static.variability.notes.named_sizes import hint_from_name
from triton_doctor.static.variability.queries.parameter_uses import (
    bind_arguments,
    divided_expressions,
    grid_expressions,
    spanned_expressions,
)
from triton_doctor.static.variability.values.dims import Dim, DimProduct
from triton_doctor.static.variability.values.lattice import AbstractNumber, Variability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel, Param
    from triton_doctor.static.variability.hints.hints import AppliedHint
    from triton_doctor.static.variability.values.dims import DimFactor

_COVERED = AxisContext(is_covered=True)


class KernelHints:
    """Adds the hints of kernels. The axes spanned by a launch's grid are computed once, when they can matter."""

    def __init__(self, interpreter: Interpreter) -> None:
        """Start with an empty cache."""
        self._interpreter = interpreter
        self._grids: dict[int, frozenset[DimFactor]] = {}
        self._blocks: dict[int, frozenset[DimFactor]] = {}
        self._names: dict[tuple[int, int], Mapping[DimFactor, frozenset[AppliedHint]]] = {}

    def add_to(
        self, number: AbstractNumber, expr: Expr | None, launch: LinkedLaunch, kernel: Kernel, param: Param
    ) -> AbstractNumber:
        """Return `number`, the value of `expr` at `launch`, with hints from how `kernel` uses `param`."""
        name, line = param.name, param.span.line
        if not _names_data_for_model(expr, name):
            number = hint_from_name(number, name, kernel.path, line, _side(name, kernel))
        if number.kind is not Variability.UNKNOWN:
            return number
        known: list[AxisContext] = []
        if (number.size is not None or _is_argument(expr, launch)) and name in described_as_data(kernel):
            known.append(AxisContext(is_described=True))
        if number.undecided_dims and name in kernel.uses.replaced:
            known.append(AxisContext(is_loaded=True))
        if self._is_attended(number, launch, kernel, name):
            known.append(AxisContext(is_attended=True))
        for context in known:
            number = number.add_hints(apply_hints(context, kernel.path, line))
        if not (names_part(name) or names_block(name)) and (axis := _one_axis(number)) is not None:
            number = number.add_hints(self._named(launch, kernel).get(axis, frozenset()))
        is_count = _is_count(number, expr, launch)
        if (name in kernel.uses.walked and (number.undecided_dims or number.from_data)) or (
            is_count and (name in kernel.uses.walked or name in kernel.uses.bounds)
        ):
            return number.add_hints(apply_hints(_COVERED, kernel.path, line))
        spanned_by_grid = number.add_hints(apply_hints(_COVERED, launch.module.path, launch.launch.span.line))
        if spanned_by_grid.decide() is number.decide():
            return number
        is_spanned = is_count and any(expr == spanned_expression for spanned_expression in spanned_expressions(launch))
        if is_spanned or (number.undecided_dims and number.undecided_dims & self._grid(launch)):
            return spanned_by_grid
        return number

    def _named(self, launch: LinkedLaunch, kernel: Kernel) -> Mapping[DimFactor, frozenset[AppliedHint]]:
        """Return what the names of `kernel`'s parameters say of axes passed by `launch`: `n_rows=x.shape[1]`."""
        key = (id(launch), id(kernel))
        if key not in self._names:
            found: dict[DimFactor, frozenset[AppliedHint]] = {}
            with suppress(RecursionError):
                for axis, hints in with_own_stack(_axes_named, launch, kernel, self._interpreter):
                    found[axis] = found.get(axis, frozenset()) | hints
            self._names[key] = found
        return self._names[key]

    def _is_attended(self, number: AbstractNumber, launch: LinkedLaunch, kernel: Kernel, name: str) -> bool:
        """Return whether it is an axis of queries, keys or values that a loop or the grid walks in blocks."""
        match number.size:
            case DimProduct((Dim(root, 2 | -2),), ()) if root.rank in (None, MANY_AXES) and names_attended(root.name):
                before = named_axes(launch.function, root.name)[1:2]
                if any(names_data(other) for other in before):  # `B, T, N, D = q.shape`: another axis is the length
                    return False
                return name in kernel.uses.walked or not number.undecided_dims.isdisjoint(self._divided(launch))
            case _:
                return False

    def _divided(self, launch: LinkedLaunch) -> frozenset[DimFactor]:
        """Return the undecided axes that the grid of a launch divides into blocks."""
        if id(launch) not in self._blocks:
            self._blocks[id(launch)] = divided(launch, self._interpreter)
        return self._blocks[id(launch)]

    def _grid(self, launch: LinkedLaunch) -> frozenset[DimFactor]:
        """Return the undecided axes that the grid of a launch spans."""
        if id(launch) not in self._grids:
            self._grids[id(launch)] = spanned(launch, self._interpreter)
        return self._grids[id(launch)]


def _names_data_for_model(expr: Expr | None, parameter: str) -> bool:
    """Return whether the caller's name speaks of data, and that of the parameter of the model: the caller decides."""
    return isinstance(expr, Name) and names_data(expr.id) and names_model(parameter)


def _side(name: str, kernel: Kernel) -> Side | None:
    """Return which side of an image `name` is, if another constexpr of `kernel` is the opposite side; else None."""
    for side, names in others_of(name):
        if any(other.is_constexpr and other.name in names for other in kernel.params):
            return side
    return None


def _is_argument(expr: Expr | None, launch: LinkedLaunch) -> bool:
    """Return whether `expr` is an unchanged argument of the launching function."""
    function = launch.function
    return (
        isinstance(expr, Name)
        and expr.id not in function.bindings
        and any(param.name == expr.id for param in function.params)
    )


def _is_count(number: AbstractNumber, expr: Expr | None, launch: LinkedLaunch) -> bool:
    """Return whether the value is an argument of the launching function and its name suggests data.

    So does the number of elements of an unknown tensor, which need not be an argument.
    """
    match expr:
        case Name(name):
            is_total = not number.undecided_dims and any(hint.hint.name == TOTAL for hint in number.hints)
            return (
                (is_total or _is_argument(expr, launch))
                and not names_block(name)
                and number.suggests_data
                and not number.suggests_model
            )
        case _:
            return False


def _one_axis(number: AbstractNumber) -> DimFactor | None:
    """Return the only undecided axis that a size, such as a number of blocks, was computed from; None for a product."""
    if number.decide() is not Variability.UNKNOWN or len(number.undecided_dims) != 1:
        return None
    return next(iter(number.undecided_dims)) if number.size is None or len(number.size.over) == 1 else None


def _axes_named(
    launch: LinkedLaunch, kernel: Kernel, interpreter: Interpreter
) -> Sequence[tuple[DimFactor, frozenset[AppliedHint]]]:
    """Return the undecided axes that `launch` passes to `kernel`, with the hints of the parameters' names."""
    names = frozenset(param.name for param in kernel.params if names_data(param.name) or names_model(param.name))
    frame = interpreter.at(launch).frame
    lines = {param.name: param.span.line for param in kernel.params}
    found = []
    for name, given in bind_arguments(launch, kernel, interpreter, names).items():
        number = interpreter.as_number(given.value, frame)
        match number.size:
            case DimProduct((Dim() as axis,), ()) if number.kind is Variability.UNKNOWN and not _names_data_for_model(
                given.expr, name
            ):
                found.append((axis, hint_from_name(number, name, kernel.path, lines[name]).hints - number.hints))
            case _:
                pass
    return found


@cached_in_scan(most=1)
def interpreter_of(project: Project) -> Interpreter:
    """Return the shared Interpreter of `project`; checks reuse each other's results."""
    return Interpreter(project)


@cached_in_scan(most=1)
def thorough_interpreter_of(project: Project) -> Interpreter:
    """Return one that also follows callers in files without Triton, which takes longer to find."""
    return Interpreter(project, follows_all_callers=True)


def spanned(launch: LinkedLaunch, interpreter: Interpreter) -> frozenset[DimFactor]:
    """Return the undecided axes that the grid of a launch spans."""
    # Expressions that are too deeply nested to follow are unknown.
    with suppress(RecursionError):
        return with_own_stack(_spanned, launch, interpreter)
    return frozenset()


def _spanned(launch: LinkedLaunch, interpreter: Interpreter) -> frozenset[DimFactor]:
    point = interpreter.at(launch)
    numbers = [interpreter.number(expr, point) for expr in grid_expressions(launch)]
    return frozenset(atom for number in numbers for atom in number.undecided_dims)


def divided(launch: LinkedLaunch, interpreter: Interpreter) -> frozenset[DimFactor]:
    """Return the undecided axes that the grid of a launch divides into blocks."""
    with suppress(RecursionError):
        return with_own_stack(_divided, launch, interpreter)
    return frozenset()


def _divided(launch: LinkedLaunch, interpreter: Interpreter) -> frozenset[DimFactor]:
    point = interpreter.at(launch)
    numbers = [interpreter.number(expr, point) for expr in divided_expressions(launch)]
    return frozenset(atom for number in numbers for atom in number.undecided_dims)

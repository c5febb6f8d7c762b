"""Hints from launches about inner axes of arguments: spanned by a grid, walked in blocks, replaced by loaded data.

A hint from one launch holds at every other, for every parameter that contains the axis. This applies to arguments with
four axes or more, whose features come last: with fewer, the grid of one kernel may span features that another kernel
walks.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from triton_doctor.nesting import with_own_stack
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Unpacked
from triton_doctor.static.variability.hints.axis_context import MANY_AXES, AxisContext
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.interpreter.interpreter import Interpreter
from triton_doctor.static.variability.notes.axis_names import names_many
from triton_doctor.static.variability.queries.launch_arguments import bind_arguments
from triton_doctor.static.variability.queries.parameter_uses import divided_expressions, grid_expressions
from triton_doctor.static.variability.values.dims import Dim
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.values.values import (
    ListValue,
    Shape,
    Strides,
    SymbolicValue,
    Tensor,
    TupleValue,
    Union,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Call
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.hints.hint_weights import AppliedHint
    from triton_doctor.static.variability.values.dims import ArgumentHints, DimFactor, Origin
    from triton_doctor.static.variability.values.program_point import ProgramPoint


@cached_in_scan(most=1)
def interpreter_of(project: Project) -> Interpreter:
    """Return the shared Interpreter of `project`, with hints from launches; checks reuse each other's results."""
    return Interpreter(project, hints_from_launches(project))


@cached_in_scan(most=1)
def thorough_interpreter_of(project: Project) -> Interpreter:
    """Return one that also follows callers in files without Triton, which takes longer to find."""
    return Interpreter(project, interpreter_of(project).hints, follows_all_callers=True)


class _LaunchReader(Interpreter):
    """An interpreter that follows inner axes to launches, without callers and without calls that hold no such axis."""

    def __init__(self, project: Project) -> None:
        super().__init__(project, follows_callers=False)

    def enter_function(self, function: Function, call: Call, point: ProgramPoint) -> Value:
        """Return what `function` returns; UNKNOWN if no argument holds an inner axis."""
        handed = (self.value(arg, point) for arg in (*call.args, *(arg for _, arg in call.keywords)))
        return super().enter_function(function, call, point) if any(map(_may_hold_inner, handed)) else UNKNOWN


def _may_hold_inner(value: Value) -> bool:
    """Return whether `value` may hold an inner axis of a tensor with many axes."""
    match value:
        case AbstractNumber():
            of_size = (*value.size.over, *value.size.under) if value.size is not None else ()
            return any(_has_many(atom.root) for atom in (*value.undecided_dims, *of_size))
        case SymbolicValue(root):
            return _has_many(root)
        case Tensor(front, back, rest):
            return any(map(_may_hold_inner, (*front, *back, *((rest,) if rest is not None else ()))))
        case Shape(of) | Strides(of):
            return _may_hold_inner(of)
        case TupleValue(items) | Union(items):
            return any(map(_may_hold_inner, items))
        case ListValue(item, length):
            return _may_hold_inner(item) or _may_hold_inner(length)
        case _:
            return True  # an object of the project


def _has_many(root: Origin) -> bool:
    return root.rank is not None and root.rank >= MANY_AXES


def hints_from_launches(project: Project) -> ArgumentHints:
    """Return the hints that the launches of `project` add, by path, function and argument, then by axis."""
    interpreter = _LaunchReader(project)
    found: defaultdict[tuple[str, str, str], dict[int, frozenset[AppliedHint]]] = defaultdict(dict)
    for launch in project.launches:
        for atom, context in _contexts(launch, interpreter) if _says_much(launch) else ():
            if isinstance(atom, Dim) and _is_inner(atom):
                axes = found[atom.root.path, atom.root.function, atom.root.name]
                hints = apply_hints(context, launch.module.path, launch.launch.span.line)
                axes[atom.position] = axes.get(atom.position, frozenset()) | hints
    return found


def _says_much(launch: LinkedLaunch) -> bool:
    """Return whether the launching function, or a source of its arguments, shows a tensor with many axes."""
    module, function = launch.module, launch.function
    if function.name == "backward" and function.class_name is not None:
        forward = module.functions.get(f"{function.class_name}.forward")
        if forward is not None and _unpacks_many(forward):
            return True
    around = module.functions.get(function.parent or "")
    return _unpacks_many(function) or (around is not None and around is not function and _unpacks_many(around))


@cached_in_scan()
def _unpacks_many(function: Function) -> bool:
    """Return whether the function names the axes of a tensor with many axes."""
    every = (one for found in function.bindings.values() for one in found)
    return any(isinstance(one.value, Unpacked) and one.value.size >= MANY_AXES for one in every) or names_many(function)


def _is_inner(axis: Dim) -> bool:
    rank = axis.root.rank
    return rank is not None and _has_many(axis.root) and 0 < axis.position < rank - 1


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


def _contexts(launch: LinkedLaunch, interpreter: Interpreter) -> Iterator[tuple[DimFactor, AxisContext]]:
    yield from ((atom, AxisContext(is_covered=True)) for atom in spanned(launch, interpreter))
    for kernel in launch.kernels:
        with suppress(RecursionError):
            yield from with_own_stack(_contexts_of_kernel, launch, kernel, interpreter)


def _contexts_of_kernel(
    launch: LinkedLaunch, kernel: Kernel, interpreter: Interpreter
) -> Sequence[tuple[DimFactor, AxisContext]]:
    names = kernel.uses.walked | kernel.uses.replaced
    if not names:
        return ()
    found: list[tuple[DimFactor, AxisContext]] = []
    frame = interpreter.at(launch).frame
    for name, one in bind_arguments(launch, kernel, interpreter, names).items():
        number = interpreter.as_number(one.value, frame)
        if number.kind is Variability.UNKNOWN and len(number.undecided_dims) == 1:
            (atom,) = number.undecided_dims
            if name in kernel.uses.walked:
                found.append((atom, AxisContext(is_covered=True)))
            if name in kernel.uses.replaced:
                found.append((atom, AxisContext(is_loaded=True)))
    return found

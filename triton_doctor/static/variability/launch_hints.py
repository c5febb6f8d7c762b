"""Launches to what they say of arguments' inner axes: spanned by a grid, walked in blocks, replaced by loaded data.

What one launch says of an axis holds at every other, and for every parameter that the axis goes into. That is so of
arguments with four axes or more, whose features come last: of fewer, one kernel's grid spans features that another
kernel walks.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from triton_doctor.nesting import with_own_stack
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Unpacked
from triton_doctor.static.variability.axis_context import MANY_AXES, AxisContext
from triton_doctor.static.variability.axis_names import names_many
from triton_doctor.static.variability.dims import Dim
from triton_doctor.static.variability.hints import apply_hints
from triton_doctor.static.variability.interpreter import Interpreter
from triton_doctor.static.variability.lattice import UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.launch_arguments import bind_arguments
from triton_doctor.static.variability.parameter_uses import divided_expressions, grid_expressions
from triton_doctor.static.variability.values import (
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
    from triton_doctor.static.variability.dims import ArgumentHints, DimFactor, Origin
    from triton_doctor.static.variability.hint_weights import AppliedHint
    from triton_doctor.static.variability.program_point import ProgramPoint


@cached_in_scan(most=1)
def interpreter_of(project: Project) -> Interpreter:
    """The one Interpreter of `project`, with the hints from launches: what a check has evaluated, the next need not."""
    return Interpreter(project, hints_from_launches(project))


@cached_in_scan(most=1)
def thorough_interpreter_of(project: Project) -> Interpreter:
    """As `interpreter_of`, with the callers in files that do not say Triton: to find these takes longer."""
    return Interpreter(project, interpreter_of(project).hints, asks_all=True)


class _LaunchReader(Interpreter):
    """Follows inner axes of arguments to launches: no callers are asked, and no calls followed that hold none."""

    def __init__(self, project: Project) -> None:
        super().__init__(project, asks=False)

    def entered(self, function: Function, call: Call, point: ProgramPoint) -> Value:
        """What `function` returns; UNKNOWN where this call hands it nothing that holds an inner axis."""
        handed = (self.value(arg, point) for arg in (*call.args, *(arg for _, arg in call.keywords)))
        return super().entered(function, call, point) if any(map(_may_hold_inner, handed)) else UNKNOWN


def _may_hold_inner(value: Value) -> bool:
    """Whether an inner axis of a tensor with many axes may be found in `value`."""
    match value:
        case AbstractNumber():
            of_size = (*value.size.over, *value.size.under) if value.size is not None else ()
            return any(_has_many(atom.root) for atom in (*value.atoms, *of_size))
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
            return True  # an object


def _has_many(root: Origin) -> bool:
    return root.rank is not None and root.rank >= MANY_AXES


def hints_from_launches(project: Project) -> ArgumentHints:
    """The hints that the launches of `project` add, by path, function and argument, then by axis."""
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
    """Whether the function that launches, or what it has its arguments from, shows a tensor with many axes."""
    module, function = launch.module, launch.function
    if function.name == "backward" and function.class_name is not None:
        forward = module.functions.get(f"{function.class_name}.forward")
        if forward is not None and _unpacks_many(forward):
            return True
    around = module.functions.get(function.parent or "")
    return _unpacks_many(function) or (around is not None and around is not function and _unpacks_many(around))


@cached_in_scan()
def _unpacks_many(function: Function) -> bool:
    """Whether the function says what the many axes of something are."""
    every = (one for found in function.bindings.values() for one in found)
    return any(isinstance(one.value, Unpacked) and one.value.size >= MANY_AXES for one in every) or names_many(function)


def _is_inner(axis: Dim) -> bool:
    rank = axis.root.rank
    return rank is not None and _has_many(axis.root) and 0 < axis.position < rank - 1


def spanned(launch: LinkedLaunch, interpreter: Interpreter) -> frozenset[DimFactor]:
    """The undecided axes that the grid of a launch spans."""
    # Hundreds of operands, or of assignments that build on each other: too deep to follow is unknown.
    with suppress(RecursionError):
        return with_own_stack(_spanned, launch, interpreter)
    return frozenset()


def _spanned(launch: LinkedLaunch, interpreter: Interpreter) -> frozenset[DimFactor]:
    point = interpreter.at(launch)
    numbers = [interpreter.number(expr, point) for expr in grid_expressions(launch)]
    return frozenset(atom for number in numbers for atom in number.atoms)


def divided(launch: LinkedLaunch, interpreter: Interpreter) -> frozenset[DimFactor]:
    """The undecided axes that the grid of a launch divides into blocks."""
    with suppress(RecursionError):
        return with_own_stack(_divided, launch, interpreter)
    return frozenset()


def _divided(launch: LinkedLaunch, interpreter: Interpreter) -> frozenset[DimFactor]:
    point = interpreter.at(launch)
    numbers = [interpreter.number(expr, point) for expr in divided_expressions(launch)]
    return frozenset(atom for number in numbers for atom in number.atoms)


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
        if number.kind is Variability.UNKNOWN and len(number.atoms) == 1:
            (atom,) = number.atoms
            if name in kernel.uses.walked:
                found.append((atom, AxisContext(is_covered=True)))
            if name in kernel.uses.replaced:
                found.append((atom, AxisContext(is_loaded=True)))
    return found

"""Parameters that vary with another of their kernel: `cdiv(n, 64)` beside `n`, a stride, a name in the autotune key.

While one of them is left, each new size is a new variant, or a new round of tuning: a remedy is for all of them.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from triton_doctor.phrases import join_words
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.calls.parameter_lookups import (
    find_pruner,
    is_looked_up_as_constexpr,
    is_taken_by_name,
)
from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.python.ir import Name
from triton_doctor.static.python.unrolled_loops import find_range_obstacles
from triton_doctor.static.variability.queries.configs import varying_keys
from triton_doctor.static.variability.queries.derived_parameters import axes_of, followed_names
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.parameters import parameters
from triton_doctor.static.variability.values.dims import Dim, DimProduct, RemainingDims
from triton_doctor.static.variability.values.lattice import Variability
from triton_doctor.static.variability.values.tensors import of_size

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.unrolled_loops import RangeObstacles
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.queries.parameters import Parameter, ParameterSource
    from triton_doctor.static.variability.values.dims import DimFactor
    from triton_doctor.static.variability.values.lattice import AbstractNumber


def find_companions(project: Project, parameter: Parameter) -> tuple[Parameter, ...]:
    """Return the constexprs and names in the key that vary with `parameter`, without those it follows from.

    Only at the launch of its worst value. An undecided one counts if it contains the whole size as a factor, or if each
    call passes the same for both.
    """
    own, followed = parameter.worst, followed_names(project, parameter)
    if own is None or own.kind is not Variability.PER_CALL:
        return ()
    found = []
    for other in _by_kernel(project).get(parameter.kernel.key, ()):
        if other.param.name in (parameter.param.name, *followed):
            continue
        # Most data reach the bound of a capped value, and share its variant.
        sources = [source for source in other.sources if source.launch is own.launch and not source.number.is_capped]
        leads = parameter.param.name in followed_names(project, other)
        if (leads and sources) or any(_change_together(interpreter_of(project), own, source) for source in sources):
            found.append(other)
    return tuple(found)


def find_all(project: Project, parameter: Parameter) -> Sequence[Parameter]:
    """Return the companions of `parameter` and what it follows from, in the order of the kernel."""
    followed, found = followed_names(project, parameter), find_companions(project, parameter)
    return [
        companion
        for companion in _by_kernel(project).get(parameter.kernel.key, ())
        if any(companion is other for other in found) or companion.param.name in followed
    ]


def find_remaining(project: Project, parameter: Parameter) -> Sequence[Parameter]:
    """Return the constexprs that change per call at the same launch, not known to change with `parameter`.

    A remedy for it leaves their variants.
    """
    own, reported = parameter.worst, [parameter, *find_all(project, parameter)]
    return [
        companion
        for companion in _by_kernel(project).get(parameter.kernel.key, ())
        if companion.param.is_constexpr
        and own is not None
        and not any(companion is other for other in reported)
        and any(
            source.launch is own.launch and source.kind is Variability.PER_CALL and not source.number.is_capped
            for source in companion.sources
        )
    ]


@cached_in_scan(most=1)
def _by_kernel(project: Project) -> Mapping[tuple[str, str, int], Sequence[Parameter]]:
    """Return the constexprs and names in the autotune key of each kernel, by its key."""
    every = groupby(parameters(project), key=lambda parameter: parameter.kernel.key)
    return {key: tuple(of_kernel) for key, of_kernel in every}


def _change_together(interpreter: Interpreter, own: ParameterSource, other: ParameterSource) -> bool:
    if other.kind is Variability.PER_CALL:
        return _vary_together(interpreter, own, other)
    if other.kind is not Variability.UNKNOWN:
        return False
    if _has_as_factor(other.number.size, own.number.size) or (own.expr is not None and own.expr == other.expr):
        return True
    return _are_passed_alike(interpreter, own, other)


def _has_as_factor(product: DimProduct | None, size: DimProduct | None) -> bool:
    """Return whether `product` is `size` times other axes."""
    if product is None or size is None or not size.over:
        return False
    whole, part = Counter(axes_of(product.over)), Counter(axes_of(size.over))
    return whole > part and not Counter(product.under) - Counter(size.under)


def _are_passed_alike(interpreter: Interpreter, source: ParameterSource, other: ParameterSource) -> bool:
    """Return whether both are parameters of the launching function for which each call passes the same expression."""
    module, function = source.launch.module, source.launch.function
    match source.expr, other.expr:
        case Name(name), Name(second) if not {name, second} & function.bindings.keys():
            given = [bind(function, caller.site.call) for caller in interpreter.call_graph.callers_of(module, function)]
            given += [
                bind(function, call.site.call)
                for call in interpreter.call_graph.callers_without_triton(module, function)
            ]
            return bool(given) and all(
                call.get(name) is not None and call.get(name) == call.get(second) for call in given
            )
        case _:
            return False


def _vary_together(interpreter: Interpreter, source: ParameterSource, other: ParameterSource) -> bool:
    """Return whether both, which change per call, depend on one axis that does, or come from one place."""
    left, right = _axes(source.number), _axes(other.number)
    if left and right:
        # Each is a product of axes that the launching function sees.
        shared = {axis for axis in (_common(a, b) for a in left for b in right) if axis is not None}
        if left <= shared or right <= shared or any(_varies(axis, source, other) for axis in shared):
            return True
        if {axis.root for axis in left - shared} & {axis.root for axis in right - shared}:
            return False  # two axes of one tensor
        return _are_checked_equal(interpreter, source, left, right) or _come_from_one_axis(source, other)
    if _is_unfollowed(source, other):
        return False
    if source.number.trail and other.number.trail and source.number.trail[0] == other.number.trail[0]:
        return True
    left, right = left | source.number.undecided_dims, right | other.number.undecided_dims
    return any(_varies(axis, source, other) for axis in left & right) or _are_checked_equal(
        interpreter, source, left, right
    )


def _axes(number: AbstractNumber) -> frozenset[DimFactor]:
    """Return the axes that make up the size of `number`; empty if it is no product of axes."""
    size = number.size
    return frozenset() if size is None else frozenset((*axes_of(size.over), *size.under))


def _common(factor: DimFactor, other: DimFactor) -> DimFactor | None:
    """Return what both contain: one axis, or the one of two products of the axes of one tensor that is in the other."""
    if factor == other:
        return factor
    if factor.root != other.root:
        return None
    match factor, other:
        case (Dim(_, at) as axis, RemainingDims(_, front, back)) | (RemainingDims(_, front, back), Dim(_, at) as axis):
            is_inside = at >= front and not back if at >= 0 else -at > back and not front
            return axis if is_inside else None
        case RemainingDims(_, front, back), RemainingDims(_, second_front, second_back):
            if front <= second_front and back <= second_back:
                return other
            return factor if front >= second_front and back >= second_back else None
        case _:
            return None


def _varies(axis: DimFactor, *sources: ParameterSource) -> bool:
    """Return whether the axis has a hint toward the data, or is all that one of the `sources` consists of."""
    alone = DimProduct((axis,))
    return any(source.number.size == alone for source in sources) or of_size(alone).suggests_data


def _are_checked_equal(
    interpreter: Interpreter, source: ParameterSource, left: frozenset[DimFactor], right: frozenset[DimFactor]
) -> bool:
    """Return whether the launching function checks that a varying axis of `left` equals one of `right`."""
    function, path = source.launch.function, source.launch.module.path
    own, others = (
        [
            axis
            for axis in axes
            if isinstance(axis, Dim) and (axis.root.path, axis.root.function) == (path, function.qualname)
        ]
        for axes in (left, right)
    )
    named = {(axis.root.name, axis.position) for axis in others}
    return any(
        check.beside(axis.root.name, axis.position, axis.root.rank) in named
        for axis in own
        if _varies(axis, source)
        for check in interpreter.checks.of(function)
    )


def _come_from_one_axis(source: ParameterSource, other: ParameterSource) -> bool:
    """Return whether callers pass tensors that have an axis in common."""
    shared = source.number.undecided_dims & other.number.undecided_dims
    return any(_varies(axis) for axis in shared) and _most_of_one_tensor(shared) == 1


def _is_unfollowed(source: ParameterSource, other: ParameterSource) -> bool:
    """Return whether one is of a shape that was not followed: an axis that may be any of several of a caller's tensor.

    Then both depend on one axis only where the launching function computes them from one value.
    """
    sizes = [len(axes) for axes in (_axes(source.number), _axes(other.number)) if axes]
    shared = source.number.undecided_dims & other.number.undecided_dims
    if not sizes or _most_of_one_tensor(shared) <= max(sizes):
        return False
    function, path = source.launch.function, source.launch.module.path
    lines = {(path, binding.line) for bindings in function.bindings.values() for binding in bindings}
    return not any((note.path, note.line) in lines for note in set(source.number.trail) & set(other.number.trail))


def _most_of_one_tensor(axes: Collection[DimFactor]) -> int:
    """Return how many of `axes` are of the same tensor, at most."""
    return max(Counter(axis.root for axis in axes).values(), default=0)


def describe_companions(project: Project, parameter: Parameter, *, named: tuple[str, ...] = ()) -> str:
    """Return the clause about other parameters that change with the value; else empty.

    `named` are names in the key that the message has said to change.
    """
    found = find_companions(project, parameter)
    constexprs = [f"`{companion.param.name}`" for companion in found if companion.param.is_constexpr]
    keys = [
        f"`{companion.param.name}`"
        for companion in found
        if not companion.param.is_constexpr and companion.param.name not in named and _is_tuned_for(project, companion)
    ]
    text = ""
    if constexprs:
        clause = "changes with it and recompiles" if len(constexprs) == 1 else "change with it and recompile"
        text += f"; {join_words(constexprs)} {clause} the kernel too"
    if keys:
        clause = "changes with it and is" if len(keys) == 1 else "change with it and are"
        text += f"; {join_words(keys)} {clause} in the autotune key"
    return text


def advise_companions(project: Project, parameter: Parameter) -> str:
    """Return what else must change, or compiles like `parameter` for each new size, and what compiles all the same."""
    remedies: dict[str, list[str]] = {}
    for companion in find_all(project, parameter):
        if companion.param.is_constexpr:
            remedies.setdefault(_remedy(project, companion), []).append(f"`{companion.param.name}`")
    steps = [text.format(join_words(names)) for text, names in remedies.items()]
    if keys := [f"`{name}`" for name in spare_keys(project, parameter)]:
        steps.append(f"take {join_words(keys)} out of the autotune key")
    text = ""
    if steps:
        *first, last = steps
        listed = f"{', '.join(first)}, and {last}" if first else last
        text = f"; the kernel compiles for what changes with it too: also {listed}"
    remaining = " or ".join(f"`{companion.param.name}`" for companion in find_remaining(project, parameter))
    return text + (f"; each new value of {remaining} still compiles the kernel" if remaining else "")


def spare_keys(project: Project, parameter: Parameter) -> tuple[str, ...]:
    """Return the names in the autotune key that change with `parameter`, and that choose no configs."""
    return tuple(
        companion.param.name
        for companion in find_all(project, parameter)
        if _is_tuned_for(project, companion) and find_pruner(project, companion.kernel, companion.param.name) is None
    )


def _remedy(project: Project, parameter: Parameter) -> str:
    """Return what to do about constexprs with the use of `parameter`, with a place for their names."""
    if parameter.use == "unread":
        kernel, name = parameter.kernel, parameter.param.name
        if kernel.may_set(name) or is_looked_up_as_constexpr(project, kernel, name):
            return "remove {} from the kernel and from its decorators"
        if is_taken_by_name(project, kernel, name):
            return "drop the annotation of {}"
        return "remove {}, which the kernel never reads"
    match parameter.need:
        case None:
            return "drop the annotation of {}"
        case "block" if parameter.param.name in parameter.kernel.uses.blocks_only:
            return "fix or round up {}, the size of a block"
        case "block":
            return "give the block that {} sizes a constexpr of its own"
        case "unrolled" if not range_obstacles(project, parameter):
            return "drop the annotation of {} with a loop over `range`"
        case "branch":
            return "pass the outcome of the test of {} in its place"
        case _:
            return "limit the values of {}, needed while compiling"


def range_obstacles(project: Project, parameter: Parameter) -> RangeObstacles:
    """Return what may keep the unrolled loops over `parameter` from becoming loops over `range`."""
    kernel = parameter.kernel
    return find_range_obstacles(kernel, project.modules.source(kernel.path), parameter.param.name)


def _is_tuned_for(project: Project, parameter: Parameter) -> bool:
    """Return whether each new value of the parameter starts a round of tuning."""
    return any(varying is parameter for varying in varying_keys(project).get(parameter.kernel.key, ()))

"""Words for parameters that change together: the clause of a message, and what a remedy is due for besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.calls.parameter_lookups import (
    find_pruner,
    is_looked_up_as_constexpr,
    is_taken_by_name,
)
from triton_doctor.static.python.unrolled_loops import find_range_obstacles
from triton_doctor.static.variability.queries.companions import find_all, find_companions, find_remaining
from triton_doctor.static.variability.queries.tuning import join_words, varying_keys

if TYPE_CHECKING:
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.unrolled_loops import RangeObstacles
    from triton_doctor.static.variability.queries.parameters import Parameter


def describe_companions(project: Project, parameter: Parameter, *, named: tuple[str, ...] = ()) -> str:
    """Return the clause about other parameters that change with the value; else empty.

    `named` are names in the key that the message has said to change.
    """
    found = find_companions(project, parameter)
    constexprs = [f"`{one.param.name}`" for one in found if one.param.is_constexpr]
    keys = [
        f"`{one.param.name}`"
        for one in found
        if not one.param.is_constexpr and one.param.name not in named and _is_tuned_for(project, one)
    ]
    text = ""
    if constexprs:
        says = "changes with it and recompiles" if len(constexprs) == 1 else "change with it and recompile"
        text += f"; {join_words(constexprs)} {says} the kernel too"
    if keys:
        says = "changes with it and is" if len(keys) == 1 else "change with it and are"
        text += f"; {join_words(keys)} {says} in the autotune key"
    return text


def advise_companions(project: Project, parameter: Parameter) -> str:
    """Return what else must change, or compiles like `parameter` for each new size, and what compiles all the same."""
    remedies: dict[str, list[str]] = {}
    for one in find_all(project, parameter):
        if one.param.is_constexpr:
            remedies.setdefault(_remedy(project, one), []).append(f"`{one.param.name}`")
    steps = [text.format(join_words(names)) for text, names in remedies.items()]
    if keys := [f"`{name}`" for name in spare_keys(project, parameter)]:
        steps.append(f"take {join_words(keys)} out of the autotune key")
    text = ""
    if steps:
        *first, last = steps
        said = f"{', '.join(first)}, and {last}" if first else last
        text = f"; the kernel compiles for what changes with it too: also {said}"
    remaining = " or ".join(f"`{one.param.name}`" for one in find_remaining(project, parameter))
    return text + (f"; each new value of {remaining} still compiles the kernel" if remaining else "")


def spare_keys(project: Project, parameter: Parameter) -> tuple[str, ...]:
    """Return the names in the autotune key that change with `parameter`, and that choose no configs."""
    return tuple(
        one.param.name
        for one in find_all(project, parameter)
        if _is_tuned_for(project, one) and find_pruner(project, one.kernel, one.param.name) is None
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
    return any(one is parameter for one in varying_keys(project).get(parameter.kernel.key, ()))

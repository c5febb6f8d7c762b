"""Finds arguments that must be powers of two, because a kernel's `tl.arange(0, N)` ends at them.

A kernel that the same function launches counts too: for any other value, the function fails there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.launches.launches import spelled_out
from triton_doctor.static.python.ir import Const, Name
from triton_doctor.static.python.reaching_definitions import reaching_definitions

if TYPE_CHECKING:
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.queries.parameters import Parameter, ParameterSource


def find_range_end(project: Project, parameter: Parameter, source: ParameterSource) -> Kernel | None:
    """Return the kernel in which a range from 0 ends at `source`, the value of `parameter`, at every launch.

    Else None.
    """
    if _ends_range(parameter.kernel, parameter.param.name):
        return parameter.kernel
    if not isinstance(source.expr, Name):
        return None
    for launch in project.launches:
        is_sure = len(launch.kernels) == 1 and set(launch.launch.arms) <= set(source.launch.launch.arms)
        if not is_sure or launch.function is not source.launch.function:
            continue
        (kernel,) = launch.kernels
        for name, argument in spelled_out(launch, kernel).items():
            if argument.value == source.expr and _ends_range(kernel, name) and _is_same(launch, source, source.expr):
                return kernel
    return None


def _ends_range(kernel: Kernel, name: str) -> bool:
    return any(
        arange.start == Const(0) and arange.end == Name(name) and not arange.conditional
        for arange in kernel.uses.aranges
    )


def _is_same(launch: LinkedLaunch, source: ParameterSource, name: Name) -> bool:
    """Return whether `name` has the same value at both launches."""
    at, other = launch.launch, source.launch.launch
    here, there = (reaching_definitions(launch.function, name.id, one.order, one.arms) for one in (at, other))
    return here == there and (here.certain or not here.bindings)

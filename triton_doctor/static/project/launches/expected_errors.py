"""Launches and kernels that a test expects to fail: `pytest.raises`, `xfail`, `except CompilationError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.launches.launches import launches_of
from triton_doctor.static.python.ir import Call, Name, dotted, every_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Binding, BranchArm, Function
    from triton_doctor.static.python.module import Kernel


def expects_error(launch: LinkedLaunch) -> bool:
    """Return whether the launch is expected to fail."""
    return _is_expected(launch.function, launch.launch.arms)


def is_expected_to_fail(project: Project, kernel: Kernel) -> bool:
    """Return whether every launch of the kernel is expected to fail.

    For a kernel without launches, every call it is passed to.
    """
    launches = launches_of(project).get(kernel.key, ())
    if launches:
        return all(map(expects_error, launches))
    module = project.modules[kernel.path]
    handed = [
        _is_expected(function, site.arms)
        for function in module.functions.values()
        if function.holds(b"raises") or function.decorators or function.holds(b"Error")
        for site in function.calls
        if _mentions(site.call, kernel.function_name)
    ]
    return bool(handed) and all(handed)


def expects_error_after(function: Function, binding: Binding) -> bool:
    """Return whether `function` expects a launch after `binding` to fail."""
    points = [(one.order, one.arms) for one in function.launches] + [(one.order, one.arms) for one in function.calls]
    return any(_is_expected(function, arms) for order, arms in points if order > binding.order)


def _is_expected(function: Function, arms: Sequence[BranchArm]) -> bool:
    if any(arm.expects_error for arm in arms):
        return True
    names = (dotted(one.func if isinstance(one, Call) else one) or "" for one in function.decorators)
    return any(name.rpartition(".")[2] in ("xfail", "expectedFailure") for name in names)


def _mentions(call: Call, name: str) -> bool:
    return Name(name) in every_part(*call.args, *(value for _, value in call.keywords))

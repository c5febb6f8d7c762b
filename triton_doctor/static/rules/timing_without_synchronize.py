"""TRD401: a host clock read right after a launch, which returns before the kernel has run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Location, Severity, Step
from triton_doctor.static.project.limits import MOST_WRAPPERS
from triton_doctor.static.python.ir import Subscript, final_name
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.models.torch import ALLOCATING, KEEPING, LIKE
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.timed_regions import is_clock, timed_regions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import CallSite, Function
    from triton_doctor.static.python.ir import Call
    from triton_doctor.static.python.module import Kernel, Module
    from triton_doctor.static.variability.queries.timed_regions import TimedRegion

CODE = "TRD401"
# Calls that neither wait for the GPU nor read a result. Any other call may.
_IDLE = (ALLOCATING | LIKE | KEEPING) - {"cpu", "to", "int", "float", "bool", "copy_"} | {
    *("append", "range", "cdiv", "next_power_of_2", "numel", "size", "stride", "dim", "len", "min", "max", "view"),
    *("reshape", "contiguous", "is_contiguous", "element_size", "data_ptr", "isinstance", "current_device", "dict"),
    *("unsqueeze", "squeeze", "flatten", "permute", "transpose", "expand", "new_empty", "get_device_properties"),
}


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each timed region, at the reading of the clock that ends it."""
    for stretch in timed_regions(project):
        last = max(stretch.starts, key=lambda start: start.order)
        if last.function is not None and _waits(project, last.function, MOST_WRAPPERS):
            continue
        after = [
            site
            for site in stretch.function.calls
            if last.order <= site.order < stretch.end
            and site.call is not last.call
            and not is_clock(stretch.module, site.call.func)
        ]
        if not _may_wait(project, stretch.module, stretch.function, after, MOST_WRAPPERS):
            yield _finding(stretch, last.kernel, last.line)


def _is_a_look_up(call: Call) -> bool:
    """Return whether it is `table.get(key, default)`."""
    return final_name(call.func) == "get" and len(call.args) == 2


def _waits(project: Project, function: Function, depth: int) -> bool:
    """Return whether anything that `function` calls may wait for the GPU."""
    home = project.names.home(function)
    return home is None or _may_wait(project, home, function, function.calls, depth)


def _may_wait(project: Project, module: Module, function: Function, sites: Sequence[CallSite], depth: int) -> bool:
    """Return whether one of `sites` may wait for the GPU, by its name or by what it calls in the project."""
    for site in sites:
        func = site.call.func
        if isinstance(func, Subscript) or final_name(func) in _IDLE or _is_a_look_up(site.call):
            continue
        callee = interpreter_of(project).call_graph.find_callee(module, function, func) if depth else None
        if callee is None or _waits(project, callee, depth - 1):
            return True
    return False


def _finding(stretch: TimedRegion, kernel: Kernel, line: int) -> Finding:
    path = stretch.module.path
    return Finding(
        path=path,
        span=stretch.span,
        code=CODE,
        severity=Severity.WARNING,
        message=(
            f"the time since `{stretch.name}` does not include running `{kernel.name}`: a launch only queues the kernel"
        ),
        advice="call `torch.cuda.synchronize()` before reading the clock, or measure with `triton.testing.do_bench`",
        facts=Facts(kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line)),
        trail=(
            Step(path, stretch.begin_line, f"`{stretch.name}` is set"),
            Step(path, line, f"`{kernel.name}` is launched"),
        ),
    )


RULE = Rule(code=CODE, check=check)

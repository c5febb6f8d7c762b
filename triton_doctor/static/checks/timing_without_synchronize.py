"""TRD401: a host clock read right after a launch, which returns before the kernel has run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Place, Severity, Step
from triton_doctor.static.expression import Item
from triton_doctor.static.flow.torch_calls import ALLOCATING, KEEPING, LIKE
from triton_doctor.static.timed import is_clock, last_name, stretches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.expression import Call
    from triton_doctor.static.model import CallSite, Kernel, Project
    from triton_doctor.static.timed import Stretch

CODE = "TRD401"
# Calls that neither wait for the GPU nor read a result. What is not among them may.
_IDLE = (ALLOCATING | LIKE | KEEPING) - {"cpu", "to", "int", "float", "bool", "copy_"} | {
    *("append", "range", "cdiv", "next_power_of_2", "numel", "size", "stride", "dim", "len", "min", "max", "view"),
    *("reshape", "contiguous", "is_contiguous", "element_size", "data_ptr", "isinstance", "current_device"),
}


def check(project: Project) -> Iterator[Finding]:
    """One finding a stretch, at the reading of the clock that ends it."""
    for stretch in stretches(project):
        last = max(stretch.starts, key=lambda start: start.order)
        if last.function is not None and _may_wait(project, last.function.calls, stretch):
            continue
        after = [site for site in stretch.function.calls if last.order <= site.order < stretch.end]
        if not _may_wait(project, after, stretch, own=last.call):
            yield _finding(stretch, last.kernel, last.line)


def _may_wait(
    project: Project, sites: list[CallSite] | tuple[CallSite, ...], stretch: Stretch, own: Call | None = None
) -> bool:
    """Whether one of `sites` may wait for the GPU, as far as its name tells; `own` is what launches the kernel."""
    for site in sites:
        func = site.call.func
        if isinstance(func, Item) or site.call is own or is_clock(stretch.module, func):
            continue
        if last_name(func) not in _IDLE:
            return True
    return False


def _finding(stretch: Stretch, kernel: Kernel, line: int) -> Finding:
    path = stretch.module.path
    return Finding(
        path=path,
        span=stretch.span,
        code=CODE,
        severity=Severity.WARNING,
        message=(
            f"the time since `{stretch.name}` ends before `{kernel.name}` has run: a launch only puts the kernel in a "
            "queue"
        ),
        advice="`torch.cuda.synchronize()` before the clock is read, or `triton.testing.do_bench`",
        facts=Facts(kernel=kernel.name, kernel_place=Place(kernel.path, kernel.span.line)),
        trail=(
            Step(path, stretch.begin_line, f"`{stretch.name}` is set"),
            Step(path, line, f"`{kernel.name}` is launched"),
        ),
    )

"""Regions of functions that a host clock measures, with the launches in each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.launches.linking import link_launches
from triton_doctor.static.project.limits import MOST_WRAPPERS
from triton_doctor.static.python.clocks import CLOCK_MODULES, WALL_CLOCKS
from triton_doctor.static.python.ir import Call, Expr, dotted
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.queries.launch_hints import interpreter_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.finding import Span
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import BranchArm, CallSite, Function, Launch
    from triton_doctor.static.python.module import Kernel, Module

_NAMED = re.compile(rb"(?<![\w.])")
_CALLED = re.compile(rb"(?:\s*\.\s*\w+)?\s*\(")


class LaunchStart(NamedTuple):
    """Something between two readings of the clock that launches `kernel`: a launch, or a call of a
    `function` that does.
    """

    kernel: Kernel
    function: Function | None
    call: Call | None
    order: int
    line: int


class TimedRegion(NamedTuple):
    """From `name = clock()` to the next reading of a clock in the same function, at `span`."""

    module: Module
    function: Function
    name: str
    begin: int
    arms: tuple[BranchArm, ...]
    begin_line: int
    end: int
    span: Span
    starts: tuple[LaunchStart, ...]


def timed_regions(project: Project) -> Iterator[TimedRegion]:
    """Yield the regions with launches in them, by path and position."""
    measured = [module for module in project.subjects() if _readings(module)]
    if not measured:
        return
    launching = Launching(project)
    for module in measured:
        for function in module.functions.values():
            if sum(function.text.count(pattern) for pattern in _readings(module)) < 2:
                continue
            readings = [site for site in function.calls if is_clock(module, site.call.func)]
            if len(readings) > 1:
                yield from _of_function(module, function, readings, launching)


def is_clock(module: Module, func: Expr) -> bool:
    """Return whether calling `func` reads a host clock."""
    name = dotted(func)
    first, _, rest = (name or "").partition(".")
    imported = module.imports.get(first)
    if imported is None:
        return False
    return ".".join(part for part in (imported.module, imported.member or "", rest) if part) in WALL_CLOCKS


@cached_in_scan()
def _readings(module: Module) -> tuple[TextPattern, ...]:
    """Return patterns that match every reading of a clock in `module`; empty if none is imported."""
    return tuple(
        TextPattern(name, _NAMED, _CALLED)
        for name, imported in module.imports.items()
        if imported.module in CLOCK_MODULES and not imported.level
    )


def _of_function(
    module: Module, function: Function, readings: list[CallSite], launching: Launching
) -> Iterator[TimedRegion]:
    for name, bindings in function.bindings.items():
        for binding in bindings:
            end = next((one for one in readings if one.order > binding.order), None)
            if end is None or end.span is None:
                continue
            if not isinstance(binding.value, Call) or not is_clock(module, binding.value.func):
                continue
            starts = tuple(launching.between(module, function, binding.order, end.order))
            if starts:
                yield TimedRegion(
                    module=module,
                    function=function,
                    name=name,
                    begin=binding.order,
                    arms=binding.arms,
                    begin_line=binding.line,
                    end=end.order,
                    span=end.span,
                    starts=starts,
                )


class Launching:
    """Which functions of a project launch kernels, and which wait for them."""

    def __init__(self, project: Project) -> None:
        self._callers = interpreter_of(project).call_graph
        self._project = project
        self._linked: dict[str, dict[int, Kernel]] = {}

    def may_have_launched(self, module: Module, function: Function, before: int, depth: int = MOST_WRAPPERS) -> bool:
        """Return whether anything before the event `before`, or before the only call of `function`, may
        launch a kernel.
        """
        if any(True for _ in self.between(module, function, 0, before)):
            return True
        callers = list(self._callers.callers_of(module, function)) if depth else []
        return any(self.may_have_launched(one.module, one.function, one.site.order, depth - 1) for one in callers)

    def between(self, module: Module, function: Function, begin: int, end: int) -> Iterator[LaunchStart]:
        """Yield what launches a kernel after the event `begin` and before `end`, in order."""
        for launch in function.launches:
            kernel = self._kernel(module, launch) if begin < launch.order < end else None
            if kernel is not None:
                yield LaunchStart(kernel, None, None, launch.order, launch.span.line)
        for site in function.calls:
            if begin < site.order < end:
                callee = self._callers.find_callee(module, function, site.call.func)
                kernel = self._launched_by(callee, MOST_WRAPPERS) if callee is not None else None
                if kernel is not None:
                    yield LaunchStart(kernel, callee, site.call, site.order, site.line)

    def _launched_by(self, function: Function, depth: int) -> Kernel | None:
        home = self._project.names.home(function)
        for launch in function.launches:
            kernel = self._kernel(home, launch)
            if kernel is not None:
                return kernel
        for site in function.calls if depth else ():
            callee = self._callers.find_callee(home, function, site.call.func)
            kernel = self._launched_by(callee, depth - 1) if callee is not None and callee is not function else None
            if kernel is not None:
                return kernel
        return None

    def _kernel(self, module: Module, launch: Launch) -> Kernel | None:
        if module.path not in self._linked:
            linked = link_launches(module, self._project.names)
            self._linked[module.path] = {id(one.launch): one.kernels[0] for one in linked if one.kernels}
        return self._linked[module.path].get(id(launch))

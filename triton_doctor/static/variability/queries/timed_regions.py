"""Launches that a program times, and settings that make them run in the interpreter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Severity
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.calls.called_names import calls_of
from triton_doctor.static.project.launches.linking import link_launches
from triton_doctor.static.project.limits import MOST_WRAPPERS
from triton_doctor.static.python.clocks import CLOCK_MODULES, WALL_CLOCKS
from triton_doctor.static.python.ir import Call, Expr, dotted
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.variables import INTERPRET, fails_with_kept_tuning, parse_version, turns_interpreter_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.finding import Span
    from triton_doctor.static.environment.setting import EnvironmentFile, EnvSetting
    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import (
        BranchArm,
        CallSite,
        Function,
        Launch,
    )
    from triton_doctor.static.python.module import Kernel, Module

_NAMED = re.compile(rb"(?<![\w.])")
_CALLED = re.compile(rb"(?:\s*\.\s*\w+)?\s*\(")


class TimedLaunch(NamedTuple):
    """A launch of `kernel` between two readings of the clock, or a call of a `function` that launches it."""

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
    starts: tuple[TimedLaunch, ...]


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
            end = next((reading for reading in readings if reading.order > binding.order), None)
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
        """Return whether anything before the event `before`, or the only call of `function`, may launch a kernel."""
        if any(True for _ in self.between(module, function, 0, before)):
            return True
        callers = list(self._callers.callers_of(module, function)) if depth else []
        return any(
            self.may_have_launched(caller.module, caller.function, caller.site.order, depth - 1) for caller in callers
        )

    def between(self, module: Module, function: Function, begin: int, end: int) -> Iterator[TimedLaunch]:
        """Yield what launches a kernel after the event `begin` and before `end`, in order."""
        for launch in function.launches:
            kernel = self._kernel(module, launch) if begin < launch.order < end else None
            if kernel is not None:
                yield TimedLaunch(kernel, None, None, launch.order, launch.span.line)
        for site in function.calls:
            if begin < site.order < end:
                callee = self._callers.find_callee(module, function, site.call.func)
                kernel = self._launched_by(callee, MOST_WRAPPERS) if callee is not None else None
                if kernel is not None:
                    yield TimedLaunch(kernel, callee, site.call, site.order, site.line)

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
            self._linked[module.path] = {id(start.launch): start.kernels[0] for start in linked if start.kernels}
        return self._linked[module.path].get(id(launch))


CODE_KINDS = frozenset({"python", "notebook"})
# Names of files and functions that people run for debugging: `dump_ttgir.sh`, `minify_model`.
_LOOKS_CLOSER = re.compile(
    r"(?:debug|sanit|profil|trac(?:e|ing)|dump|minif|repro(?!g|j|c)|bisect|ncu|nsys|nsight|disasm)"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def settings_that_interpret(project: Project) -> Iterator[tuple[EnvironmentFile, EnvSetting]]:
    """Yield every setting that turns interpreter mode on, in the project's version of Triton."""
    version = parse_version(project.triton_version)
    for file in project.environment:
        for setting in file.settings:
            is_on = setting.value is not None and turns_interpreter_on(setting.value, version)
            if setting.variable == INTERPRET and is_on:
                yield file, setting


def describe_kept_tuning(project: Project) -> str:
    """Return the end of a message on interpreter mode: what Triton 3.4 and 3.5 cannot launch in it.

    Empty if the project names another version, or names none and the file tunes no kernel with `cache_results`.
    """
    version = parse_version(project.triton_version) if project.triton_version else project.pinned_triton
    kept = next((kernel.name for kernel in project.kernels() if kernel.autotune and kernel.autotune.keeps), None)
    if not (fails_with_kept_tuning(version) if version else kept):
        return ""
    what = f"`{kept}`, tuned with `cache_results`," if kept else "what is tuned with `cache_results`"
    return f"; with Triton 3.4 and 3.5 {what} fails at its launch"


def comes_too_late(setting: EnvSetting) -> bool:
    """Return whether the setting affects no kernel of the file because all were decorated before."""
    return setting.own_process and setting.order.kernel_decorated is not None and not setting.order.kernels_after


def severity_of(
    project: Project, file: EnvironmentFile, setting: EnvSetting, worst: Severity = Severity.WARNING
) -> Severity:
    """Return the severity of `setting` in `file`: `worst`, or info if it is temporary or has a reason.

    It is temporary if only tests run it, if it is undone, or if a user has to request it: by running a file named for
    debugging, or by calling the function that sets it.
    """
    if file.for_tests or setting.is_brief or setting.is_explained or _looks_closer(file, setting):
        return Severity.INFO
    return worst if _is_always_made(project, file, setting) else Severity.INFO


def _looks_closer(file: EnvironmentFile, setting: EnvSetting) -> bool:
    """Return whether the file or function is named for debugging, or the file runs a program given by its user."""
    if file.runs_programs:
        return True
    named = (file.path.rpartition("/")[2], setting.function or "")
    return any(_LOOKS_CLOSER.match(word.lower()) for name in named for word in _WORD.findall(name))


def _is_always_made(project: Project, file: EnvironmentFile, setting: EnvSetting) -> bool:
    """Return whether the function with `setting` is called anywhere unconditionally, or may be called by others.

    Conditions over calls in the same file are already in `setting.guarded`. A function with another use than a plain
    call, such as `main` or a decorated one, counts as called.
    """
    module = project.modules.get(file.path) if file.kind in CODE_KINDS and setting.function is not None else None
    if module is None:
        return True
    named = [function for function in module.functions.values() if function.name == setting.function]
    if len(named) != 1 or named[0].decorators or named[0].name == "main" or named[0].name.startswith("__"):
        return True
    (function,) = named
    if calls_of(module, function.name):
        return True
    return any(
        not _is_conditional(caller) for caller in interpreter_of(project).call_graph.all_callers(module, function)
    )


def _is_conditional(caller: Caller) -> bool:
    """Return whether a condition decides over the call."""
    return any(not arm.loop and not arm.is_main and arm.sides > 1 for arm in caller.site.arms)

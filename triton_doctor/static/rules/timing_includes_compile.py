"""TRD402: a host clock around the first launch of a kernel, which compiles it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Location, Severity, Step
from triton_doctor.static.project.calls.called_names import calls_of
from triton_doctor.static.python.ir import Lambda, every_part
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.timed_regions import Launching, timed_regions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.variability.queries.timed_regions import TimedLaunch, TimedRegion


CODE = "TRD402"
# Words of a name or a printed text that state a first launch is what was measured. `compiled`, `warm` and `first` alone
# are none: the time of a compiled model, of a warm run or to the first token is a latency.
_STATED = re.compile(
    r"\bwarm(?:ing)?[ -]?up\b|\bcompil(?:e|ing|ation)\b|\bauto-?tun(?:e|ing)\b|\btuning\b|\bcold\b"
    r"|\bfirst (?:call|run|launch)\b",
    re.IGNORECASE,
)
# A text with the value printed in or after it: `"took {took:.1f}`, `"took", took`, `"took", clock() - start`.
_SHOWN = r"(?P<words>[^\"'{{}}\n]{{0,200}})(?:\{{|[\"']\s*,)[^\"'{{}}\n]{{0,80}}\b{name}\b"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each timed region, at the reading of the clock that ends it."""
    launching = Launching(project)
    for stretch in timed_regions(project):
        first = min(stretch.starts, key=lambda start: start.order)
        if _runs_once(project, stretch) and not _is_warm(launching, stretch) and not _is_meant(stretch):
            yield _finding(stretch, first)


def _runs_once(project: Project, stretch: TimedRegion) -> bool:
    """Return whether the region is in no loop, and in no function that may run more than once."""
    function = stretch.function
    if any(arm.loop for arm in stretch.arms) or function.class_name is not None:
        return False
    if function.name == "<module>":
        return True
    callers = [*interpreter_of(project).call_graph.callers_of(stretch.module, function), *_callers_for_main(stretch)]
    return len(callers) == 1 and not any(arm.loop for arm in callers[0].site.arms)


def _callers_for_main(stretch: TimedRegion) -> list[Caller]:
    """Return the calls of its function under a main guard, which start the measured program."""
    called = calls_of(stretch.module, stretch.function.name)
    return [caller for caller in called if any(arm.is_main for arm in caller.site.arms)]


def _is_meant(stretch: TimedRegion) -> bool:
    """Return whether a name or a printed text states that warm-up, compilation or tuning is measured."""
    function, line = stretch.function, stretch.span.line
    if any(word in function.name.lower() for word in ("warm", "compil")):
        return True
    measured = (name for name, every in function.bindings.items() if any(binding.line == line for binding in every))
    names = [stretch.name, *measured]
    if any(_STATED.search(name.replace("_", " ")) for name in names):
        return True
    shown = (re.finditer(_SHOWN.format(name=re.escape(name)), function.text.text) for name in names)
    return any(_STATED.search(mention["words"]) for every in shown for mention in every)


def _is_warm(launching: Launching, stretch: TimedRegion) -> bool:
    """Return whether something before the region may have launched the kernel already."""
    if launching.may_have_launched(stretch.module, stretch.function, stretch.begin):
        return True
    if any(launching.may_have_launched(*caller[:2], caller.site.order) for caller in _callers_for_main(stretch)):
        return True
    earlier = [site.call for site in stretch.function.calls if site.order < stretch.begin]
    given = [argument for call in earlier for argument in (*call.args, *(value for _, value in call.keywords))]
    # An argument is, or contains, a function: `warm_up(lambda: add(x, y))`.
    return any(isinstance(part, Lambda) for part in every_part(*given))


def _finding(stretch: TimedRegion, start: TimedLaunch) -> Finding:
    path, kernel = stretch.module.path, start.kernel
    return Finding(
        path=path,
        span=stretch.span,
        code=CODE,
        severity=Severity.WARNING,
        message=f"the time since `{stretch.name}` includes compiling `{kernel.name}`: this is its first launch",
        advice="launch it once before the clock starts, or measure with `triton.testing.do_bench`, which warms up",
        facts=Facts(kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line)),
        trail=(
            Step(path, stretch.begin_line, f"`{stretch.name}` is set"),
            Step(path, start.line, f"`{kernel.name}` is launched for the first time"),
        ),
    )


RULE = Rule(code=CODE, check=check)

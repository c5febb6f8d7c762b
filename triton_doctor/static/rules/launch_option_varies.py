"""TRD207: a launch option that follows the data, or that equal launches of one kernel spell differently.

The fix uses one spelling of the options at all launches with the same meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Facts, Finding, Location, Severity
from triton_doctor.plan import Change, DropArgument, GiveArgument, Plan, Replace, Safety
from triton_doctor.static.project.calls.surroundings import kernel_of, launches
from triton_doctor.static.project.launches.launches import hides_arguments, launches_of, spelled_out
from triton_doctor.static.python.ir import Const
from triton_doctor.static.python.printing import spell
from triton_doctor.static.rules.registry import Rule
from triton_doctor.static.variability.models.python import LAUNCH_OPTIONS, NVIDIA, is_alike_everywhere, is_default
from triton_doctor.static.variability.queries.idle_code import describe_idle_reason, explain_idle_launch, is_test
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Argument
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel

CODE = "TRD207"


class _Spelling(NamedTuple):
    """The options of a launch, in the order given."""

    launch: LinkedLaunch
    options: tuple[tuple[str, Expr], ...]

    @property
    def meaning(self) -> frozenset[tuple[str, Expr]]:
        """Their values, without defaults."""
        return frozenset((name, value) for name, value in self.options if not _is_default(name, value))


def _is_default(name: str, value: Expr) -> bool:
    return isinstance(value, Const) and is_default(name, value.value, NVIDIA)


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each kernel and option that varies, and for each kernel launched with two spellings."""
    for kernel in project.kernels():
        own = {param.name for param in kernel.params}
        spellings: list[_Spelling] = []
        given: dict[str, list[tuple[LinkedLaunch, Argument]]] = {}
        for launch in launches_of(project).get(kernel.key, ()):
            arguments = spelled_out(launch, kernel)
            options = {name: one for name, one in arguments.items() if name in LAUNCH_OPTIONS and name not in own}
            for name, argument in options.items():
                given.setdefault(name, []).append((launch, argument))
            if not hides_arguments(launch):
                spellings.append(_Spelling(launch, tuple((name, one.value) for name, one in options.items())))
        for name, passed in given.items():
            yield from _varying(project, kernel, name, passed)
        if kernel.autotune is None:
            yield from _respelled(kernel, spellings)


def _varying(
    project: Project, kernel: Kernel, name: str, launches: Sequence[tuple[LinkedLaunch, Argument]]
) -> Iterator[Finding]:
    """Yield the first launch whose option `name` changes with each call; info if no program runs it."""
    interpreter = interpreter_of(project)
    varying = [
        (launch, argument, number)
        for launch, argument in launches
        if not isinstance(argument.value, Const)
        and (number := interpreter.number(argument.value, interpreter.at(launch))).decide() is Variability.PER_CALL
    ]
    # as with parameters: launches in tests say nothing if a program launches the kernel too
    if varying and any(not is_test(interpreter, launch) for launch in launches_of(project)[kernel.key]):
        varying = [one for one in varying if not is_test(interpreter, one[0])]
    if not varying:
        return
    serving = [
        (launch, argument, number)
        for launch, argument, number in varying
        if explain_idle_launch(interpreter, launch) is None
    ]
    launch, argument, number = (serving or varying)[0]
    idle = explain_idle_launch(interpreter, launch)
    places = {Location(one.module.path, other.span.line) for one, other, _ in varying}
    steps = dict.fromkeys(note.step() for note in number.trail)
    yield Finding(
        path=launch.module.path,
        span=argument.span,
        code=CODE,
        severity=Severity.INFO if idle else Severity.WARNING,
        message=(
            f"`{name}` recompiles `{kernel.name}` for each value of `{spell(argument.value)}`"
            f"{describe_idle_reason(idle)}"
        ),
        advice=f"choose `{name}` from a few fixed values: each is a variant of its own",
        facts=Facts(
            kernel=kernel.name,
            kernel_location=Location(kernel.path, kernel.line),
            parameter=name,
            launch=launch.launch.span,
            variability=Variability.PER_CALL.label,
            bound=number.bound,
            also=tuple(sorted(places - {Location(launch.module.path, argument.span.line)})),
        ),
        trail=tuple(steps),
    )


def _respelled(kernel: Kernel, spellings: list[_Spelling]) -> Iterator[Finding]:
    """Yield the first launch with the same options as an earlier one in another spelling."""
    by_meaning: dict[frozenset[tuple[str, Expr]], _Spelling] = {}
    for second in spellings:
        first = by_meaning.setdefault(second.meaning, second)
        if first.options != second.options:
            yield _finding(kernel, first, second)
            return


def _finding(kernel: Kernel, first: _Spelling, second: _Spelling) -> Finding:
    path, span = second.launch.module.path, second.launch.launch.span
    location = Location(first.launch.module.path, first.launch.launch.span.line)
    where = f"line {location.line}" + (f" of {location.path}" if location.path != path else "")
    return Finding(
        path=path,
        span=span,
        code=CODE,
        severity=Severity.INFO,
        message=(
            f"`{kernel.name}` is launched with {_describe(second)} here and {_describe(first)} on {where}: "
            "the same options under two keys, so the kernel is loaded for each"
        ),
        advice="pass the same options in the same order at every launch, including those left at their defaults",
        facts=Facts(
            kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line), launch=span, also=(location,)
        ),
    )


def _describe(spelling: _Spelling) -> str:
    given = ", ".join(f"{name}={spell(value)}" for name, value in spelling.options)
    return f"`{given}`" if given else "no options"


def plan(project: Project, finding: Finding) -> Plan | None:
    """Give the launch the options of the first equal one; None for an option that varies."""
    kernel = kernel_of(project, finding)
    if kernel is None or finding.facts.parameter is not None or len(finding.facts.also) != 1:
        return None
    (location,) = finding.facts.also
    here = [
        one for one in launches(project, kernel) if (one.module.path, one.launch.span) == (finding.path, finding.span)
    ]
    first = [
        one
        for one in launches(project, kernel)
        if (one.module.path, one.launch.span.line) == (location.path, location.line)
    ]
    if len(here) != 1 or len(first) != 1 or len(here[0].kernels) != 1:
        return None
    own, wanted = _options(here[0], kernel), _options(first[0], kernel)
    if not all(isinstance(one.value, Const) for one in (*own.values(), *wanted.values())):
        return None
    texts = [f"{name}={one.value.value!r}" for name, one in wanted.items() if isinstance(one.value, Const)]
    added = own.keys() ^ wanted.keys()
    return Plan(
        safety=Safety.SAFE if all(map(is_alike_everywhere, added)) else Safety.UNSAFE,
        title=f"launch `{kernel.name}` with {', '.join(f'`{text}`' for text in texts) or 'no options'}",
        changes=tuple(_changes(here[0], list(own.values()), texts)),
    )


def _options(launch: LinkedLaunch, kernel: Kernel) -> dict[str, Argument]:
    names = LAUNCH_OPTIONS.keys() - {param.name for param in kernel.params}
    return {name: one for name, one in spelled_out(launch, kernel).items() if name in names}


def _changes(launch: LinkedLaunch, own: list[Argument], texts: list[str]) -> list[Change]:
    path, call = launch.module.path, launch.launch.span
    changes: list[Change] = [
        Replace(path, call, argument.span, text) for argument, text in zip(own, texts, strict=False)
    ]
    changes += [DropArgument(path, call, argument.span) for argument in own[len(texts) :]]
    if len(texts) > len(own):
        changes.append(GiveArgument(path, call, ", ".join(texts[len(own) :])))
    return changes


RULE = Rule(code=CODE, check=check, plan=plan)

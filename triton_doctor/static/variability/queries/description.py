"""Values to the words of findings, and one kernel to its explanation."""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.finding import (
    Facts,
    HintNote,
    Location,
    Step,
    Undecided,
)
from triton_doctor.kernel_names import matches
from triton_doctor.static.project.launches.launches import launches_of
from triton_doctor.static.python.ir import Const, Name
from triton_doctor.static.python.printing import spell
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.queries.configs import config_count
from triton_doctor.static.variability.queries.parameters import Parameters, parameters
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.queries.parameters import Parameter, ParameterSource
    from triton_doctor.static.variability.values.lattice import AbstractNumber

# A name, or an entry of a named table.
_NAME = re.compile(r"\w+(\[[^]]*\])*")


def spelled(source: ParameterSource) -> str:
    """Return the value as the user wrote it; a name that stands for one expression is replaced by that expression."""
    expr = source.expr
    if expr is None:
        return source.number.trail[-1].step().text.replace("`", "") if source.number.trail else "an entry of a table"
    if isinstance(expr, Name):
        launch = source.launch.launch
        bound = reaching_definitions(source.launch.function, expr.id, launch.order, launch.arms)
        if bound.certain and len(bound.bindings) == 1:
            return spell(bound.bindings[0].value)
    return spell(expr)


def describe_value(source: ParameterSource) -> str:
    """Return the value in quotes. A name or entry is followed by its origin, a heuristic by parentheses.

    A value that only written notes decide is followed by the quoted note. A varying name without a described origin is
    replaced by its expression.
    """
    text = spelled(source)
    if not _NAME.fullmatch(text) and not source.number.depends_on_notes:
        return f"`{text}`"
    if any(heuristic.span == source.span for kernel in source.launch.kernels for heuristic in kernel.heuristics):
        return f"`{text}(...)`"
    origin = source.number.trail[0].step().text if source.number.trail else ""
    if origin.startswith("the "):
        return f"`{text}` ({origin})"
    bound = f"`{text}` is "
    full = next((step for note in reversed(source.number.trail) if (step := note.step().text).startswith(bound)), None)
    if full is None:
        return f"`{text}`"
    value = full.removeprefix(bound)
    return value if value.startswith("`") else f"`{text}` ({value})"


def facts(
    parameter: Parameter,
    source: ParameterSource | None,
    *,
    autotune_keys: tuple[str, ...] = (),
    follows: tuple[str, ...] = (),
) -> Facts:
    """Return the facts of a finding about the parameter with the value `source`.

    `also` lists the other places whose values change as often.
    """
    kernel, param = parameter.kernel, parameter.param
    others = {
        Location(other.path, other.span.line)
        for other in parameter.sources
        if source is not None and (other.path, other.span) != (source.path, source.span) and other.kind is source.kind
    }
    return Facts(
        kernel=kernel.name,
        kernel_location=Location(kernel.path, kernel.line),
        parameter=param.name,
        parameter_location=Location(kernel.path, param.span.line),
        launch=source.launch.launch.span if source is not None and source.launch.module.path == source.path else None,
        variability=source.kind.label if source is not None else None,
        bound=source.number.bound if source is not None else None,
        use=parameter.use,
        also=tuple(sorted(others)),
        autotune_keys=autotune_keys,
        follows=follows,
        hints=hint_notes(source.number) if source is not None else (),
    )


def hint_notes(number: AbstractNumber) -> tuple[HintNote, ...]:
    """Return the hints that decide `number`, or come nearest to it, in a fixed order: toward the data first."""
    notes = {
        HintNote(
            toward=hint.toward.value,
            name=hint.name,
            weight=hint.weight,
            reason=hint.says,
            location=Location(path, line) if path is not None and line is not None else None,
        )
        for hint, path, line in number.hints
    }
    return tuple(sorted(notes, key=lambda note: (note.toward, note.name, note.location or Location("", 0))))


def trail(parameter: Parameter, source: ParameterSource) -> tuple[Step, ...]:
    """Return the path of the value from its source to the parameter, a step a line, without repetitions in a row."""
    kernel, param = parameter.kernel, parameter.param
    steps: list[Step] = []
    for note in source.number.trail:
        step = note.step()
        if step not in steps:
            steps.append(step)
    if source.expr is not None and spell(source.expr) != param.name:
        steps.append(Step(source.path, source.span.line, f"`{param.name}` is `{spell(source.expr)}` at the launch"))
    tuned = "in the autotune key" if parameter.in_autotune_key else "an argument"
    what = "a constexpr" if param.is_constexpr else tuned
    steps.append(Step(kernel.path, param.span.line, f"`{param.name}` is {what} of `{kernel.name}`"))
    return tuple(steps)


# Specialization classes of a plain integer: 1, a multiple of 16, or neither.
_INTEGER_CLASSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedParameter:
    """One parameter. `role` is `constexpr`, `specialized` or `plain`; `given` is how a launch spells its value.

    `variants` is the number of values or classes it contributes to the key; None if unbounded or unknown. `findings`
    are those of `check` about it, `hints` those that decide its kind or come nearest to it.
    """

    name: str
    role: str
    kind: Variability
    bound: int | None
    use: str
    in_autotune_key: bool
    given: str | None
    variants: int | None
    trail: tuple[Step, ...]
    findings: tuple[Finding, ...] = ()
    hints: tuple[HintNote, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedKernel:
    """A kernel with its parameters in order."""

    name: str
    location: Location
    launches: tuple[Location, ...]
    autotune_key: tuple[str, ...]
    configs: int | None
    parameters: tuple[ExplainedParameter, ...]

    @property
    def unbounded(self) -> tuple[str, ...]:
        """The constexprs that change with each call."""
        return tuple(
            parameter.name
            for parameter in self.parameters
            if parameter.role == "constexpr" and parameter.kind is Variability.PER_CALL
        )

    @property
    def undecided(self) -> tuple[str, ...]:
        """The constexprs whose values could not be followed."""
        return tuple(
            parameter.name
            for parameter in self.parameters
            if parameter.role == "constexpr" and parameter.kind is Variability.UNKNOWN
        )

    @property
    def variants(self) -> int | None:
        """The maximal number of variants by all constexprs; None if one is unbounded or unknown."""
        counts = [parameter.variants for parameter in self.parameters if parameter.role == "constexpr"]
        known = [count for count in counts if count is not None]
        return prod(known) if len(known) == len(counts) else None


def explain(
    project: Project, pattern: str, reported: Callable[[Project], Iterable[Finding]] = lambda project: ()
) -> tuple[ExplainedKernel, ...]:
    """Return the kernels of `project` whose name matches `pattern`, a name or a glob.

    `reported` gives the findings about them.
    """
    kernels = [kernel for kernel in project.kernels() if matches(kernel.name, pattern)]
    every = Parameters(project)
    launches = launches_of(project)
    by_parameter: defaultdict[tuple[Location | None, str | None], list[Finding]] = defaultdict(list)
    for finding in reported(project) if kernels else ():
        by_parameter[finding.facts.kernel_location, finding.facts.parameter].append(finding)
    explained = []
    for kernel in kernels:
        location = Location(kernel.path, kernel.line)
        parameters = [
            replace(_parameter(parameter), findings=tuple(by_parameter[location, parameter.param.name]))
            for parameter in every.of(kernel, lambda kernel, param: True)
        ]
        explained.append(_explained(project, kernel, parameters, launches.get(kernel.key, ())))
    return tuple(explained)


def find_undecided(project: Project) -> tuple[Undecided, ...]:
    """Return the constexprs that kernels of `project` read and that the launches do not decide."""
    return tuple(
        Undecided(
            kernel=parameter.kernel.name,
            kernel_location=Location(parameter.kernel.path, parameter.kernel.line),
            parameter=parameter.param.name,
            location=Location(source.path, source.span.line),
            hints=hint_notes(source.number),
        )
        for parameter in parameters(project)
        if parameter.param.is_constexpr and parameter.use != "unread" and (source := parameter.undecided) is not None
    )


def show_kernel(kernel: ExplainedKernel, show: Callable[[str], str]) -> ExplainedKernel:
    """Return `kernel` with `show` applied to each of its paths."""
    parameters = (
        replace(
            parameter,
            trail=tuple(replace(step, path=show(step.path)) for step in parameter.trail),
            hints=tuple(
                replace(hint, location=replace(hint.location, path=show(hint.location.path)))
                if hint.location is not None
                else hint
                for hint in parameter.hints
            ),
        )
        for parameter in kernel.parameters
    )
    return replace(
        kernel,
        location=replace(kernel.location, path=show(kernel.location.path)),
        launches=tuple(replace(location, path=show(location.path)) for location in kernel.launches),
        parameters=tuple(parameters),
    )


def unknown_kernel(pattern: str, names: Iterable[str]) -> DoctorError:
    """Return the error for a `pattern` that matches none of `names`, the names of all kernels."""
    from difflib import get_close_matches

    known = sorted(set(names))
    by_case = [name for name in known if fnmatch.fnmatchcase(name.lower(), pattern.lower())]
    parts = [name for name in known if pattern.lower() in name.lower()]
    close = by_case[:3] or parts[:3] or get_close_matches(pattern, known, n=3)
    read = f"1 kernel was read, `{known[0]}`" if len(known) == 1 else f"{len(known):,} kernels were read"
    hint = f"{read}; name one, or a glob in quotes"
    if close:
        hint = f"did you mean {' or '.join(f'`{name}`' for name in close)}?"
    return DoctorError(f"there is no kernel {pattern}", hint=hint)


def _explained(
    project: Project, kernel: Kernel, parameters: Sequence[ExplainedParameter], launches: Sequence[LinkedLaunch]
) -> ExplainedKernel:
    return ExplainedKernel(
        name=kernel.name,
        location=Location(kernel.path, kernel.line),
        launches=tuple(sorted({Location(launch.module.path, launch.launch.span.line) for launch in launches})),
        autotune_key=kernel.autotune.key if kernel.autotune is not None else (),
        configs=config_count(project, kernel),
        parameters=tuple(parameters),
    )


def _parameter(parameter: Parameter) -> ExplainedParameter:
    kernel, param = parameter.kernel, parameter.param
    source = parameter.undecided or parameter.worst
    tuned = kernel.autotune is not None and param.name in (kernel.autotune.sets or ())
    kind = _kind(source, defaulted=param.default is not None or tuned)
    argument = "plain" if param.name in kernel.do_not_specialize else "specialized"
    role = "constexpr" if param.is_constexpr else argument
    return ExplainedParameter(
        name=param.name,
        role=role,
        kind=kind,
        bound=source.number.bound if source is not None else None,
        use=parameter.use,
        in_autotune_key=parameter.in_autotune_key,
        given=_given(parameter, source) if source is not None else ("a config" if tuned else None),
        variants=max(len(_fixed_values(parameter)), 1) if kind is Variability.FIXED else _variants(role, kind, source),
        trail=trail(parameter, source) if source is not None and kind is not Variability.FIXED else (),
        hints=hint_notes(source.number) if source is not None else (),
    )


def _fixed_values(parameter: Parameter) -> tuple[str, ...]:
    """Return the literals that launches pass for a constexpr: each is a variant, though no launch changes its own."""
    if not parameter.param.is_constexpr:
        return ()
    literals = [source for source in parameter.sources if isinstance(source.expr, Const)]
    return tuple(dict.fromkeys(spelled(source) for source in literals))


def _given(parameter: Parameter, source: ParameterSource) -> str:
    values = _fixed_values(parameter)
    return ", ".join(values) if source.kind is Variability.FIXED and len(values) > 1 else spelled(source)


def _kind(source: ParameterSource | None, *, defaulted: bool) -> Variability:
    if source is None:
        return Variability.FIXED if defaulted else Variability.UNKNOWN
    return source.kind


def _variants(role: str, kind: Variability, source: ParameterSource | None) -> int | None:
    if role == "plain" or kind in (Variability.FIXED, Variability.PER_MODEL):
        return 1
    bound = source.number.bound if source is not None else None
    if role == "specialized":
        return None if kind is Variability.UNKNOWN else _INTEGER_CLASSES
    return bound

"""Parameter values in words: the origin, the other values given to it, and the facts of a finding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, HintNote, Location, Step
from triton_doctor.static.python.ir import Name
from triton_doctor.static.python.printing import spell
from triton_doctor.static.python.reaching_definitions import reaching_definitions

if TYPE_CHECKING:
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
    said = next((step for note in reversed(source.number.trail) if (step := note.step().text).startswith(bound)), None)
    if said is None:
        return f"`{text}`"
    value = said.removeprefix(bound)
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
            says=hint.says,
            location=Location(path, line) if path is not None and line is not None else None,
        )
        for hint, path, line in number.hints
    }
    return tuple(sorted(notes, key=lambda note: (note.toward, note.name, note.location or Location("", 0))))


def trail(parameter: Parameter, source: ParameterSource) -> tuple[Step, ...]:
    """Return the path of the value from its source to the parameter, one step a line, without
    consecutive repetitions.
    """
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

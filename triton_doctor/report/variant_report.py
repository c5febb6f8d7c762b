"""What decides a kernel's variants, for a terminal or for a program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from triton_doctor.phrases import plural
from triton_doctor.report.frame import NARROWEST, crop, hang
from triton_doctor.report.full import STYLES
from triton_doctor.report.hint_wording import WAYS_TO_DECIDE, describe_hints, describe_question, summarize_hints
from triton_doctor.report.json import hint_object
from triton_doctor.static.variability.values.lattice import Variability
from triton_doctor.terminal import escape_line, print_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import Step
    from triton_doctor.static.variability.queries.description import ExplainedKernel, ExplainedParameter

SCHEMA = 1
LAUNCHES_SHOWN = 8
NARROWEST_GIVEN = 12
GAP = "  "
ROLES = {
    "constexpr": "constexprs: each new value compiles a variant",
    "specialized": "arguments: a variant for each type; of integers for 1, multiples of 16 and others",
    "plain": "arguments in `do_not_specialize`: a variant for each type",
}


def render_kernels(kernels: Sequence[ExplainedKernel], *, color: bool, width: int, why: bool = False) -> str:
    """Render each kernel: launches, parameters by role, paths of the values that matter, and the number of variants.

    `why` adds the hints on each parameter.
    """
    lines = [line for kernel in kernels for line in (*_draw_kernel(kernel, max(width, NARROWEST), why=why), Text())]
    return print_lines(lines, color=color, width=width)


def render_kernels_json(kernels: Sequence[ExplainedKernel]) -> str:
    """Render the kernels as JSON, schema 1."""
    return json.dumps({"schema": SCHEMA, "kernels": [_json(kernel) for kernel in kernels]}, indent=2) + "\n"


def _draw_kernel(kernel: ExplainedKernel, width: int, *, why: bool) -> Iterator[Text]:
    yield Text.assemble(
        (escape_line(kernel.name), "bold"), escape_line(f" at {kernel.location.path}:{kernel.location.line}")
    )
    yield from _draw_launches(kernel, width)
    if kernel.autotune_key:
        names = ", ".join(f"`{name}`" for name in kernel.autotune_key)
        configs = f"all {kernel.configs} configs" if kernel.configs else "all configs"
        yield from hang("", f"autotunes {configs} for each combination of {names}", width)
    for role, heading in ROLES.items():
        rows = [parameter for parameter in kernel.parameters if parameter.role == role]
        if rows:
            yield Text()
            yield from hang("", heading, width)
            yield from _draw_rows(rows, width)
            if any(parameter.kind is Variability.PER_MODEL for parameter in rows):
                yield from hang(GAP, "per model: the model's configuration fixes it", width)
    for parameter in kernel.parameters:
        if parameter.findings or (
            parameter.kind in (Variability.PER_CALL, Variability.LOGARITHMIC) and _counts(parameter)
        ):
            yield Text()
            yield _name_with_findings(parameter)
            yield from (line for step in parameter.trail for line in _draw_step(step, width))
    if why:
        yield Text()
        yield from hang("", "hints: what suggests how often a value changes", width)
        for parameter in kernel.parameters:
            yield from _draw_hints(parameter, width)
    yield Text()
    yield from _draw_sum(kernel, width)


def _counts(parameter: ExplainedParameter) -> bool:
    """Return whether each new value of the parameter causes a compile or a round of tuning."""
    return parameter.role == "constexpr" or parameter.in_autotune_key


def _name_with_findings(parameter: ExplainedParameter) -> Text:
    codes = [
        (f"{GAP}{finding.code} ({finding.severity.label})", STYLES[finding.severity]) for finding in parameter.findings
    ]
    return Text.assemble((escape_line(parameter.name), "bold"), *codes)


def _draw_launches(kernel: ExplainedKernel, width: int) -> Iterator[Text]:
    if not kernel.launches:
        yield from hang("", "no launch of it was found", width)
    for number, place in enumerate(kernel.launches[:LAUNCHES_SHOWN]):
        yield Text(f"{'launched at' if number == 0 else '        and'} {escape_line(place.path)}:{place.line}")
    if len(kernel.launches) > LAUNCHES_SHOWN:
        yield Text(f"        and {len(kernel.launches) - LAUNCHES_SHOWN} more")


def _draw_rows(rows: Sequence[ExplainedParameter], width: int) -> Iterator[Text]:
    """Yield a line for each parameter, with the columns that fit; the origin of its value takes the remaining width."""
    cells = [_cells(row) for row in rows]
    names = max(cell_len(cell[0]) for cell in cells)
    columns = [max(cell_len(cell[column]) for cell in cells) for column in range(4)]
    left = width - len(GAP) - names
    shown = []
    for column in range(1, 4):
        if columns[column] and left >= columns[column] + len(GAP):
            shown.append(column)
            left -= columns[column] + len(GAP)
    for row, cell in zip(rows, cells, strict=True):
        worst = max((finding.severity for finding in row.findings), default=None)
        line = Text.assemble(("> ", STYLES[worst]) if worst is not None else GAP)
        line.append(f"{cell[0]:<{names}}", "bold" if worst is not None else "")
        for column in shown:
            style = STYLES[worst] if worst is not None and column == 2 else _style(row) if column == 1 else ""
            line.append(f"{GAP}{cell[column]:<{columns[column]}}", style)
        if row.given and left >= NARROWEST_GIVEN:
            line.append(GAP + crop(escape_line(row.given), left - len(GAP), 0))
        line.rstrip()
        yield line


def _style(parameter: ExplainedParameter) -> str:
    if parameter.kind is Variability.UNKNOWN:
        return "dim"
    return "bold" if parameter.kind is Variability.PER_CALL and _counts(parameter) else ""


def _cells(parameter: ExplainedParameter) -> tuple[str, str, str, str]:
    """Return name, how often the value changes, the rules that report it, and what the kernel uses it for."""
    changes = parameter.kind.label.replace("_", " ")
    bounded = (Variability.FEW, Variability.LOGARITHMIC, Variability.PER_CALL)
    if parameter.bound is not None and parameter.kind in bounded:
        changes += f", up to {parameter.bound:,}"
    if parameter.in_autotune_key:
        changes += ", in key"
    codes = ", ".join(dict.fromkeys(finding.code for finding in parameter.findings))
    use = parameter.use.replace("_", " ") if parameter.role == "constexpr" else ""
    return escape_line(parameter.name), changes, codes, use


def _draw_hints(parameter: ExplainedParameter, width: int) -> Iterator[Text]:
    """Yield the sum of the hints on a parameter, and each hint; nothing for an argument whose value is known."""
    changes = parameter.kind.label.replace("_", " ")
    if parameter.hints:
        first, *others = describe_hints(parameter.hints)
        yield from hang(GAP, f"{parameter.name}: {first} ({changes})", width)
        for line in others:
            yield from hang(GAP * 2, line, width)
    elif parameter.kind is Variability.UNKNOWN and _counts(parameter):
        yield from hang(GAP, f"{parameter.name}: {summarize_hints(())} ({changes})", width)


def _draw_step(step: Step, width: int) -> Iterator[Text]:
    """Yield a step on one line, or its text below the place if that would be too long."""
    where = escape_line(f"{GAP}{step.path}:{step.line}")
    if cell_len(f"{where}: {step.text}") <= width:
        yield from hang(f"{where}: ", step.text, width)
    else:
        yield Text(where, "cyan")
        yield from hang(GAP * 2, step.text, width)


def _draw_sum(kernel: ExplainedKernel, width: int) -> Iterator[Text]:
    quoted = ", ".join(f"`{name}`" for name in kernel.unbounded)
    if kernel.unbounded:
        yield from hang("variants: ", f"one for each value of {quoted}, times those of the other parameters", width)
    elif kernel.variants is not None:
        sentence = f"at most {kernel.variants:,} from its constexprs, for each class of its other arguments"
        yield from hang("variants: ", sentence, width)
    else:
        yield from hang("variants: ", "no bound is known", width)
    if kernel.undecided:
        names = ", ".join(f"`{name}`" for name in kernel.undecided)
        sentence = f"{plural(len(kernel.undecided), 'constexpr')} that could not be followed: {names}"
        yield from hang("unknown: ", sentence, width)
        lead = " " * len("unknown: ")
        for parameter in kernel.parameters:
            if parameter.name in kernel.undecided:
                yield from hang(lead, describe_question(f"`{parameter.name}`", parameter.hints), width)
        yield from hang(lead, WAYS_TO_DECIDE, width)


def _json(kernel: ExplainedKernel) -> dict[str, Any]:
    return {
        "kernel": kernel.name,
        "path": kernel.location.path,
        "line": kernel.location.line,
        "launches": [{"path": place.path, "line": place.line} for place in kernel.launches],
        "autotune_key": list(kernel.autotune_key),
        "configs": kernel.configs,
        "variants": kernel.variants,
        "unbounded": list(kernel.unbounded),
        "parameters": [_parameter_json(parameter) for parameter in kernel.parameters],
    }


def _parameter_json(parameter: ExplainedParameter) -> dict[str, Any]:
    return {
        "parameter": parameter.name,
        "role": parameter.role,
        "variability": parameter.kind.label,
        "bound": parameter.bound,
        "use": parameter.use,
        "in_autotune_key": parameter.in_autotune_key,
        "given": parameter.given,
        "variants": parameter.variants,
        "trail": [{"path": step.path, "line": step.line, "text": step.text} for step in parameter.trail],
        "hints": [hint_object(hint) for hint in parameter.hints],
        "findings": [{"code": finding.code, "severity": finding.severity.label} for finding in parameter.findings],
    }

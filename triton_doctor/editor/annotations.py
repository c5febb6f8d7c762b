"""What is known of launches and kernels to hovers, inlay hints and code lenses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import CodeLens, Command, Hover, InlayHint, InlayHintKind, MarkupContent, MarkupKind

from triton_doctor.editor.documents import holds
from triton_doctor.editor.recorded import format_kernel, format_parameter
from triton_doctor.phrases import plural
from triton_doctor.report.hint_wording import describe_hints
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.editor.documents import Positions
    from triton_doctor.editor.explained import ArgumentInFile, ExplainedFile, KernelInFile
    from triton_doctor.editor.recorded import RecordedRuns
    from triton_doctor.evidence.recorded_kernels import RecordedKernel
    from triton_doctor.finding import HintNote, Step
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.queries.description import ExplainedParameter

_WORDS = {
    Variability.FIXED: "fixed",
    Variability.FEW: "a few values",
    Variability.PER_MODEL: "per model",
    Variability.LOGARITHMIC: "logarithmic: powers of two, or sizes rounded likewise",
    Variability.PER_CALL: "per call",
    Variability.UNKNOWN: "undecided",
}
_HINTED = {
    Variability.FEW: "few",
    Variability.PER_MODEL: "per model",
    Variability.LOGARITHMIC: "logarithmic",
    Variability.PER_CALL: "per call",
}
_USES = {
    "compile_time": "the kernel needs it while it compiles",
    "read": "the kernel only computes with it",
    "unread": "the kernel never reads it",
}


def hover_at(
    file: ExplainedFile,
    positions: Positions,
    line: int,
    column: int,
    seen: Callable[[Kernel], RecordedKernel | None],
    runs: RecordedRuns,
) -> Hover | None:
    """Return what is known of the argument, parameter or kernel at `line` and `column`, which count from 1."""
    for argument in file.arguments:
        span = positions.with_keyword(argument.span, argument.parameter)
        if holds(span, line, column):
            return Hover(_markdown(_describe_argument(argument, seen(argument.kernel), runs)), positions.range_of(span))
    for kernel in file.kernels:
        named = next((span for span in kernel.launched if holds(span, line, column)), None)
        if named is not None:
            lines = _describe_kernel(kernel, seen(kernel.kernel), runs)
            return Hover(_markdown(lines), positions.range_of(named))
        if not kernel.is_here:
            continue
        parameter = next((param for param in kernel.kernel.params if holds(param.span, line, column)), None)
        if parameter is not None:
            explained = next(found for found in kernel.explained.parameters if found.name == parameter.name)
            lines = _describe_parameter(explained, seen(kernel.kernel), runs)
            return Hover(_markdown(lines), positions.range_of(parameter.span))
        if kernel.kernel.line == line:
            return Hover(_markdown(_describe_kernel(kernel, seen(kernel.kernel), runs)), positions.line_range(line))
    return None


def inlay_hints(file: ExplainedFile, positions: Positions, first: int, last: int) -> list[InlayHint]:
    """Return a hint for each launch argument on the lines `first` to `last` whose variability is known."""
    return [
        InlayHint(
            position=positions.position_of(argument.span.end_line, argument.span.end_column),
            label=f": {_HINTED[argument.kind]}",
            kind=InlayHintKind.Type,
            padding_right=True,
            tooltip=f"`{argument.parameter}` of `{argument.kernel.name}`, {_format_role(argument)}",
        )
        for argument in file.arguments
        if argument.kind in _HINTED and first <= argument.span.end_line <= last
    ]


def code_lenses(
    file: ExplainedFile, positions: Positions, seen: Callable[[Kernel], RecordedKernel | None], runs: RecordedRuns
) -> list[CodeLens]:
    """Return a lens above each kernel with its launches and variants, and what the last run recorded."""
    found = []
    for kernel in filter(lambda kernel: kernel.is_here, file.kernels):
        title = "; ".join(filter(None, (format_variants(kernel), _format_last_run(seen(kernel.kernel), runs))))
        found.append(CodeLens(range=positions.line_range(kernel.kernel.line), command=Command(title=title, command="")))
    return found


def format_variants(kernel: KernelInFile) -> str:
    """Format launches and variants: `2 launches, up to 12 variants`; `1 launch, a variant for each value of n`."""
    explained = kernel.explained
    counts = plural(len(explained.launches), "launch")
    if explained.unbounded:
        return f"{counts}, a variant for each value of {', '.join(explained.unbounded)}"
    if explained.undecided:
        return f"{counts}, {plural(len(explained.undecided), 'constexpr')} undecided"
    if explained.variants is not None and explained.launches:
        most = "up to " if explained.variants > 1 else ""
        return f"{counts}, {most}{plural(explained.variants, 'variant')} by constexprs"
    return counts


def _format_last_run(seen: RecordedKernel | None, runs: RecordedRuns) -> str:
    return f"last run{' (dry)' if runs.dry else ''}: {format_kernel(seen)}" if seen is not None else ""


def _describe_argument(argument: ArgumentInFile, seen: RecordedKernel | None, runs: RecordedRuns) -> Iterator[str]:
    role, changes = _format_role(argument), _WORDS[argument.kind]
    yield f"**`{argument.parameter}`** of `{argument.kernel.name}`, {role}: **{changes}**"
    yield from _describe_trail(argument.trail)
    yield from _describe_hints(argument.hints)
    yield from _describe_values(argument.parameter, seen, runs)


def _format_role(argument: ArgumentInFile) -> str:
    is_constexpr = any(param.name == argument.parameter and param.is_constexpr for param in argument.kernel.params)
    if not is_constexpr:
        return "part of the autotune key"
    return "a constexpr and part of the autotune key" if argument.in_autotune_key else "a constexpr"


def _describe_parameter(
    parameter: ExplainedParameter, seen: RecordedKernel | None, runs: RecordedRuns
) -> Iterator[str]:
    key = ", autotune key" if parameter.in_autotune_key else ""
    yield f"**`{parameter.name}`**, {parameter.role}{key}: **{_WORDS[parameter.kind]}**"
    if parameter.given is not None:
        yield f"launched with `{parameter.given}`; {_USES[parameter.use]}"
    yield from _describe_trail(parameter.trail)
    yield from _describe_hints(parameter.hints)
    yield from _describe_values(parameter.name, seen, runs)
    for finding in parameter.findings:
        yield f"{finding.code}: {finding.message}"


def _describe_kernel(kernel: KernelInFile, seen: RecordedKernel | None, runs: RecordedRuns) -> Iterator[str]:
    yield f"**`{kernel.kernel.name}`**: {format_variants(kernel)}"
    for parameter in kernel.explained.parameters:
        if parameter.role == "constexpr" and parameter.kind is not Variability.FIXED:
            yield f"- `{parameter.name}`: {_WORDS[parameter.kind]}"
    if seen is not None:
        yield f"recorded in {runs.name}: {format_kernel(seen)}"


def _describe_trail(trail: tuple[Step, ...]) -> Iterator[str]:
    for step in trail:
        yield f"- {step.text} ({step.path}:{step.line})"


def _describe_hints(hints: tuple[HintNote, ...]) -> Iterator[str]:
    if hints:
        first, *others = describe_hints(hints)
        yield first
        yield from (f"- {line}" for line in others)


def _describe_values(parameter: str, seen: RecordedKernel | None, runs: RecordedRuns) -> Iterator[str]:
    values = format_parameter(seen, parameter) if seen is not None else None
    if values is not None:
        yield f"recorded in {runs.name}: {values}"


def _markdown(lines: Iterator[str]) -> MarkupContent:
    """Join lines to Markdown: lines that begin with a dash form a list, others are paragraphs."""
    text = ""
    for line in lines:
        text += ("\n" if line.startswith("- ") else "\n\n") + line
    return MarkupContent(MarkupKind.Markdown, text.strip())

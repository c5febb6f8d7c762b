"""What is known of launches and kernels to hovers, inlay hints and code lenses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import CodeLens, Command, Hover, InlayHint, InlayHintKind, MarkupContent, MarkupKind

from triton_doctor.editor.positions import holds
from triton_doctor.editor.recorded import tell_kernel, tell_parameter
from triton_doctor.report.concise import plural
from triton_doctor.report.hints import describe_hints
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.editor.explained import ArgumentInFile, ExplainedFile, KernelInFile
    from triton_doctor.editor.positions import Positions
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
    """What is known of the argument, the parameter or the kernel at `line` and `column`, both from 1."""
    for argument in file.arguments:
        span = positions.with_keyword(argument.span, argument.parameter)
        if holds(span, line, column):
            return Hover(_markdown(_tell_argument(argument, seen(argument.kernel), runs)), positions.range_of(span))
    for kernel in file.kernels:
        named = next((span for span in kernel.launched if holds(span, line, column)), None)
        if named is not None:
            told = _tell_kernel(kernel, seen(kernel.kernel), runs)
            return Hover(_markdown(told), positions.range_of(named))
        if not kernel.is_here:
            continue
        parameter = next((param for param in kernel.kernel.params if holds(param.span, line, column)), None)
        if parameter is not None:
            explained = next(one for one in kernel.explained.parameters if one.name == parameter.name)
            told = _tell_parameter(explained, seen(kernel.kernel), runs)
            return Hover(_markdown(told), positions.range_of(parameter.span))
        if kernel.kernel.line == line:
            return Hover(_markdown(_tell_kernel(kernel, seen(kernel.kernel), runs)), positions.line_range(line))
    return None


def inlay_hints(file: ExplainedFile, positions: Positions, first: int, last: int) -> list[InlayHint]:
    """How often each argument of the launches on the lines from `first` to `last` changes, where that is decided."""
    return [
        InlayHint(
            position=positions.position_of(argument.span.end_line, argument.span.end_column),
            label=f": {_HINTED[argument.kind]}",
            kind=InlayHintKind.Type,
            padding_right=True,
            tooltip=f"`{argument.parameter}` of `{argument.kernel.name}`, {_tell_role(argument)}",
        )
        for argument in file.arguments
        if argument.kind in _HINTED and first <= argument.span.end_line <= last
    ]


def code_lenses(
    file: ExplainedFile, positions: Positions, seen: Callable[[Kernel], RecordedKernel | None], runs: RecordedRuns
) -> list[CodeLens]:
    """Over each kernel: its launches and variants, and what the last run saw."""
    found = []
    for one in (kernel for kernel in file.kernels if kernel.is_here):
        told = "; ".join(filter(None, (tell_variants(one), _tell_last_run(seen(one.kernel), runs))))
        found.append(CodeLens(range=positions.line_range(one.kernel.line), command=Command(title=told, command="")))
    return found


def tell_variants(kernel: KernelInFile) -> str:
    """`2 launches, up to 12 variants`; `1 launch, a variant for each value of n`."""
    explained = kernel.explained
    told = plural(len(explained.launches), "launch", "launches")
    if explained.unbounded:
        return f"{told}, a variant for each value of {', '.join(explained.unbounded)}"
    if explained.undecided:
        return f"{told}, {plural(len(explained.undecided), 'constexpr')} undecided"
    if explained.variants is not None and explained.launches:
        return (
            f"{told}, {'up to ' if explained.variants > 1 else ''}{plural(explained.variants, 'variant')} by constexprs"
        )
    return told


def _tell_last_run(seen: RecordedKernel | None, runs: RecordedRuns) -> str:
    return f"last run{' (dry)' if runs.dry else ''}: {tell_kernel(seen)}" if seen is not None else ""


def _tell_argument(one: ArgumentInFile, seen: RecordedKernel | None, runs: RecordedRuns) -> Iterator[str]:
    yield f"**`{one.parameter}`** of `{one.kernel.name}`, {_tell_role(one)}: **{_WORDS[one.kind]}**"
    yield from _tell_trail(one.trail)
    yield from _tell_hints(one.hints)
    yield from _tell_values(one.parameter, seen, runs)


def _tell_role(one: ArgumentInFile) -> str:
    is_constexpr = any(param.name == one.parameter and param.is_constexpr for param in one.kernel.params)
    if not is_constexpr:
        return "part of the autotune key"
    return "a constexpr and part of the autotune key" if one.in_autotune_key else "a constexpr"


def _tell_parameter(one: ExplainedParameter, seen: RecordedKernel | None, runs: RecordedRuns) -> Iterator[str]:
    key = ", autotune key" if one.in_autotune_key else ""
    yield f"**`{one.name}`**, {one.role}{key}: **{_WORDS[one.kind]}**"
    if one.given is not None:
        yield f"launched with `{one.given}`; {_USES[one.use]}"
    yield from _tell_trail(one.trail)
    yield from _tell_hints(one.hints)
    yield from _tell_values(one.name, seen, runs)
    for finding in one.findings:
        yield f"{finding.code}: {finding.message}"


def _tell_kernel(one: KernelInFile, seen: RecordedKernel | None, runs: RecordedRuns) -> Iterator[str]:
    yield f"**`{one.kernel.name}`**: {tell_variants(one)}"
    for parameter in one.explained.parameters:
        if parameter.role == "constexpr" and parameter.kind is not Variability.FIXED:
            yield f"- `{parameter.name}`: {_WORDS[parameter.kind]}"
    if seen is not None:
        yield f"recorded in {runs.name}: {tell_kernel(seen)}"


def _tell_trail(trail: tuple[Step, ...]) -> Iterator[str]:
    for step in trail:
        yield f"- {step.text} ({step.path}:{step.line})"


def _tell_hints(hints: tuple[HintNote, ...]) -> Iterator[str]:
    if hints:
        first, *others = describe_hints(hints)
        yield first
        yield from (f"- {line}" for line in others)


def _tell_values(parameter: str, seen: RecordedKernel | None, runs: RecordedRuns) -> Iterator[str]:
    told = tell_parameter(seen, parameter) if seen is not None else None
    if told is not None:
        yield f"recorded in {runs.name}: {told}"


def _markdown(lines: Iterator[str]) -> MarkupContent:
    """Lines as paragraphs, those that begin with a dash as a list."""
    text = ""
    for line in lines:
        text += ("\n" if line.startswith("- ") else "\n\n") + line
    return MarkupContent(MarkupKind.Markdown, text.strip())

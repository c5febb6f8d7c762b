"""A comparison as text for a terminal, and as Markdown for a comment on a pull request, in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.phrases import plural
from triton_doctor.report.comparison.compare import OPTION
from triton_doctor.report.markup import escape_markdown, table_lines
from triton_doctor.report.recording.text import align
from triton_doctor.report.recording.wording import describe_values, seconds
from triton_doctor.rulebook import rule_name
from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.report.comparison.compare import BeforeAfter, Comparison, KernelComparison, Key, ParameterChange

VARIANTS_SHOWN, SINGLE = 6, 3


def describe_moved(moved: BeforeAfter, *, time: bool = False) -> tuple[str, str, str]:
    """Format before, after, and the signed difference, which is empty if there is none; with `time`, of us."""
    spell = seconds if time else "{:,}".format
    difference = moved.after - moved.before
    sign = "+" if difference > 0 else "-"
    return spell(moved.before), spell(moved.after), f"{sign}{spell(abs(difference))}" if difference else ""


def describe_totals(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Return rows of label, before, after and difference for the whole run."""
    return [
        ("wall time", *describe_moved(comparison.wall_us, time=True)),
        ("waited for Triton, all kernels", *describe_moved(comparison.sum("waited_us"), time=True)),
        ("compiled", *describe_moved(comparison.sum("compiled"))),
        ("from disk", *describe_moved(comparison.sum("from_disk"))),
        ("rounds of tuning", *describe_moved(comparison.sum("rounds"))),
    ]


def describe_verdict(comparison: Comparison) -> str:
    """Format the first line: `46 variants before, 5 after: 3 new, 44 gone; 4 kernels as before`."""
    variants = [kernel.variants for kernel in comparison.kernels]
    was, now = sum(variant.before for variant in variants), sum(variant.after for variant in variants)
    counts = (
        (sum(len(variant.new) for variant in variants), "new", "new"),
        (sum(len(variant.gone) for variant in variants), "gone", "gone"),
        (sum(len(variant.changed) for variant in variants), "changed", "changed"),
        (
            sum(len(variant.parameters) for variant in variants),
            "parameter of another kind",
            "parameters of another kind",
        ),
    )
    changes = [f"{count:,} {word if count == 1 else words}" for count, word, words in counts if count]
    same = sum(kernel.is_same for kernel in comparison.kernels)
    as_before = f"; {plural(same, 'kernel')} as before" if same else ""
    seen = "the same, as far as was seen" if comparison.hidden_before or comparison.hidden_after else "the same"
    return f"{plural(was, 'variant')} before, {now:,} after: {', '.join(changes) or seen}{as_before}"


def describe_kernel(kernel: KernelComparison) -> str:
    """Format a kernel's name, its number of variants, and its time in both runs."""
    variants = kernel.variants
    was, now, _ = describe_moved(kernel.waited_us, time=True)
    took = f"; {was} before, {now} after" if kernel.waited_us.before or kernel.waited_us.after else ""
    if kernel.is_new:
        return f"`{kernel.kernel.name}` is new: {plural(variants.after, 'variant')}{took}"
    if kernel.is_gone:
        return f"`{kernel.kernel.name}` is gone: {plural(variants.before, 'variant')}{took}"
    return f"`{kernel.kernel.name}`: {plural(variants.before, 'variant')} before, {variants.after:,} after{took}"


def describe_changes(kernel: KernelComparison) -> Iterator[str]:
    """Yield a line for each thing that changed in a kernel."""
    variants = kernel.variants
    for parameter in variants.parameters:
        yield describe_parameter(parameter)
    if not (kernel.is_new or kernel.is_gone):
        yield from _describe_keys("new", variants.new)
        yield from _describe_keys("gone", variants.gone)
    for was, now in variants.changed[:VARIANTS_SHOWN]:
        yield f"changed: {_describe_options(was, now)}"
    if len(variants.changed) > VARIANTS_SHOWN:
        yield f"and {len(variants.changed) - VARIANTS_SHOWN:,} more changed"
    if kernel.rounds.before != kernel.rounds.after:
        yield f"rounds of tuning: {kernel.rounds.before:,} before, {kernel.rounds.after:,} after"
    for cause in kernel.causes:
        if cause.count.before != cause.count.after:
            named = f" `{cause.parameter}`" if cause.parameter else ""
            counts = f"{cause.count.before:,}x before, {cause.count.after:,}x after"
            yield f"{cause.code} {rule_name(cause.code)}{named}: {counts}"


def describe_parameter(change: ParameterChange) -> str:
    """Format a change of kind: `bs` is an argument now, was a constexpr."""
    spelled = {"constexpr": "a constexpr", "argument": "an argument", None: "absent"}
    return f"`{change.name}` is {spelled[change.after]} now, was {spelled[change.before]}"


def _describe_keys(word: str, keys: Sequence[Key]) -> Iterator[str]:
    if not keys:
        return
    if len(keys) <= SINGLE:
        yield from (f"{word}: {describe_key(key)}" for key in keys)
        return
    yield f"{word}: {len(keys):,} variants: {'; '.join(_summarize(keys))}"


def _summarize(keys: Sequence[Key]) -> Iterator[str]:
    """Yield each part of the keys with its values: `bs` 17 to 28."""
    values: dict[str, dict[str, None]] = {}
    for key in keys:
        for part in key:
            values.setdefault(part.name, {}).setdefault(part.value)
    for name, seen in values.items():
        yield f"`{name}` {describe_values(seen)}"


def describe_key(key: Key) -> str:
    """Format the parts by which a variant differs from the others."""
    return ", ".join(f"`{part.name}` {part.value}" for part in key) or "its only variant"


def _describe_options(was: Key, now: Key) -> str:
    before = {part.name: part.value for part in was if part.kind == OPTION}
    moved = [f"`{part.name}` {before.get(part.name, 'none')} is {part.value} now" for part in now if part not in was]
    same = tuple(part for part in now if part.kind != OPTION)
    return ", ".join(moved) + (f" at {describe_key(same)}" if same else "")


def render_text(comparison: Comparison) -> str:
    """Render the verdict, the totals, then kernels and causes, those with the largest change in time first."""
    return "".join(f"{escape_line(line).rstrip()}\n" for line in _lines(comparison))


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"triton-doctor: {describe_verdict(comparison)}"
    for name, was, now in comparison.versions:
        yield f"{name} {now}, was {was}"
    yield ""
    yield from align([("", "before", "after", "moved"), *describe_totals(comparison)])
    differing = [kernel for kernel in comparison.kernels if not kernel.is_same]
    if differing:
        yield from ("", "kernels, most time moved first")
        for kernel in differing:
            yield f"  {describe_kernel(kernel)}"
            yield from (f"    {line}" for line in describe_changes(kernel))
    causes = [cause for cause in comparison.causes if cause.count.before != cause.count.after]
    if causes:
        yield from ("", "causes, most time moved first")
        rows = [("  cause", "before", "after", "before", "after", "moved")]
        for cause in causes:
            counts, times = describe_moved(cause.count), describe_moved(cause.waited_us, time=True)
            rows.append((f"  {cause.code} {rule_name(cause.code)}", f"{counts[0]}x", f"{counts[1]}x", *times))
        yield from align(rows)
    hidden = [("before", message) for message in comparison.hidden_before]
    hidden += [("after", message) for message in comparison.hidden_after]
    if hidden:
        yield from ("", "not seen")
        yield from (f"  {which}: {message}" for which, message in hidden)


def render_markdown(comparison: Comparison) -> str:
    """Render a heading, the verdict, a table of totals, and a list of kernels."""
    return "\n\n".join(_blocks(comparison)) + "\n"


def _blocks(comparison: Comparison) -> Iterator[str]:
    yield "## triton-doctor: what compiles"
    yield f"**{escape_markdown(describe_verdict(comparison))}**"
    if comparison.versions:
        yield escape_markdown("; ".join(f"{name} {now}, was {was}" for name, was, now in comparison.versions))
    yield "\n".join(table_lines((("", "before", "after", "moved"), *describe_totals(comparison)), numbers=True))
    lines = []
    for kernel in comparison.kernels:
        if not kernel.is_same:
            lines.append(f"- {escape_markdown(describe_kernel(kernel))}")
            lines += [f"  - {escape_markdown(line)}" for line in describe_changes(kernel)]
    if lines:
        yield "### kernels, most time moved first"
        yield "\n".join(lines)
    causes = [cause for cause in comparison.causes if cause.count.before != cause.count.after]
    if causes:
        yield "### causes, most time moved first"
        rows = [("cause", "compiles before", "after", "time before", "after", "moved")]
        for cause in causes:
            counts, times = describe_moved(cause.count), describe_moved(cause.waited_us, time=True)
            rows.append((f"{cause.code} {rule_name(cause.code)}", counts[0], counts[1], *times))
        yield "\n".join(table_lines(rows, numbers=True))
    hidden = [f"- before: {escape_markdown(message)}" for message in comparison.hidden_before]
    hidden += [f"- after: {escape_markdown(message)}" for message in comparison.hidden_after]
    if hidden:
        yield "### not seen"
        yield "\n".join(hidden)

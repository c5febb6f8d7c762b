"""A comparison as Markdown, for a comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.report.comparison.wording import (
    describe_changes,
    describe_kernel,
    describe_moved,
    describe_totals,
    describe_verdict,
)
from triton_doctor.report.markup import escape_markdown, table_lines
from triton_doctor.rulebook import rule_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.report.comparison.compare import Comparison


def render_markdown(comparison: Comparison) -> str:
    """A heading, the verdict, a table, and a list of kernels."""
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

"""A comparison for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.report.comparison.wording import (
    describe_changes,
    describe_kernel,
    describe_moved,
    describe_totals,
    describe_verdict,
)
from triton_doctor.report.recording.text import align
from triton_doctor.rulebook import rule_name
from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.report.comparison.compare import Comparison


def render_text(comparison: Comparison) -> str:
    """The verdict, the figures, then kernels and causes, what moved most time first."""
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
        for one in differing:
            yield f"  {describe_kernel(one)}"
            yield from (f"    {line}" for line in describe_changes(one))
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

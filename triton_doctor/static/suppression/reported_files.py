"""Restricts findings to the files that the user named; one that also holds there is moved there.

A kernel with the same problem at three launches is one finding, at the first launch. A user who names the third file
wants to see it there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.finding import Location, Span, split_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from triton_doctor.finding import Finding


def concerns(finding: Finding, report_paths: frozenset[str] | None) -> bool:
    """Return whether `finding` is in a file of `report_paths` (None for all files), or also holds in one."""
    return (
        report_paths is None
        or finding.path in report_paths
        or any(location.path in report_paths for location in finding.facts.also)
    )


def move_to_reported(
    findings: Iterable[Finding], report_paths: frozenset[str] | None, source_of: Callable[[str], bytes | None]
) -> Iterator[Finding]:
    """Yield `findings`, each in a file of `report_paths`: its own place, or else the first other place where it holds.

    There its span is the line, and its original place becomes one of the other places. `source_of` gives the bytes of a
    path.
    """
    for finding in findings:
        if report_paths is None or split_cell(finding.path)[0] in report_paths:
            yield finding
            continue
        location = next((place for place in finding.facts.also if split_cell(place.path)[0] in report_paths), None)
        if location is not None:
            also = {*finding.facts.also, Location(finding.path, finding.span.line)} - {location}
            yield replace(
                finding,
                path=location.path,
                span=_line_span(source_of(location.path) or b"", location.line),
                facts=replace(finding.facts, launch=None, also=tuple(sorted(also))),
                home=(finding.path, finding.span),
            )


def _line_span(source: bytes, line: int) -> Span:
    """Return the span of the line without surrounding blanks."""
    lines = source.decode("utf-8", "replace").splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return Span(line, len(text) - len(text.lstrip()) + 1, line, max(len(text.rstrip()), 1) + 1)

"""Findings to those of the files asked for: one that is true of them too is reported there, once.

A kernel that three files launch alike is one finding, at the first launch; who asks for the third file wants it there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.finding import Location, Span, split_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from triton_doctor.finding import Finding


def concerns(finding: Finding, asked: frozenset[str] | None) -> bool:
    """Whether `finding` stands in a file of `asked`, or is true there too; `asked` is None for all files."""
    return asked is None or finding.path in asked or any(location.path in asked for location in finding.facts.also)


def move_to_asked(
    findings: Iterable[Finding], asked: frozenset[str] | None, source_of: Callable[[str], bytes | None]
) -> Iterator[Finding]:
    """The `findings`, each in a file of `asked`: where it stands, else at the first other place that it is true of.

    There it spans the line, and where it stood is one of the other places. `source_of` gives the bytes of a path.
    """
    for finding in findings:
        if asked is None or split_cell(finding.path)[0] in asked:
            yield finding
            continue
        location = next((one for one in finding.facts.also if split_cell(one.path)[0] in asked), None)
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
    """What is not blank of the line."""
    lines = source.decode("utf-8", "replace").splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return Span(line, len(text) - len(text.lstrip()) + 1, line, max(len(text.rstrip()), 1) + 1)

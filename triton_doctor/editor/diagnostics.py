"""Findings to diagnostics of the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import (
    CodeDescription,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Location,
    Position,
    Range,
)

from triton_doctor.finding import Severity, split_cell
from triton_doctor.report.concise import describe_message
from triton_doctor.rulebook import installed_home

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.editor.documents import Positions
    from triton_doctor.finding import Finding

SOURCE = "triton-doctor"
_SEVERITIES = {
    Severity.ERROR: DiagnosticSeverity.Error,
    Severity.WARNING: DiagnosticSeverity.Warning,
    Severity.INFO: DiagnosticSeverity.Information,
}


def make_diagnostic(
    finding: Finding, positions_of: Callable[[str], Positions], uri_of: Callable[[str], str]
) -> Diagnostic:
    """Convert `finding` to a diagnostic. `positions_of` and `uri_of` take a path as findings spell it.

    A diagnostic of a notebook is at its beginning: its text is JSON, in which lines do not locate a cell.
    """
    in_cell = split_cell(finding.path)[1] is not None
    start = Range(Position(0, 0), Position(0, 0))
    facts = finding.facts
    related = [(step.path, step.line, step.text) for step in finding.trail]
    related += [(place.path, place.line, "also launched here") for place in facts.also]
    page = installed_home().page_uri(finding.code)
    return Diagnostic(
        range=start if in_cell else positions_of(finding.path).range_of(finding.span),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=CodeDescription(page) if page is not None else None,
        source=SOURCE,
        message="\n".join(filter(None, (describe_message(finding), finding.advice))),
        tags=[DiagnosticTag.Unnecessary] if facts.use == "unread" else None,
        related_information=[
            DiagnosticRelatedInformation(
                Location(uri_of(path), start if split_cell(path)[1] else positions_of(path).line_range(line)), text
            )
            for path, line, text in related
        ]
        or None,
    )

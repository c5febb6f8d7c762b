"""A scan as GitHub workflow commands, which become annotations on the lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Severity, split_cell
from triton_doctor.report.concise import describe_evidence, describe_message
from triton_doctor.rulebook import rule_name
from triton_doctor.terminal import escape_character

if TYPE_CHECKING:
    from triton_doctor.finding import Finding
    from triton_doctor.static.scan import Scan

ENCODED = {"%": "%25", "\r": "%0D", "\n": "%0A"}
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_github(scan: Scan) -> str:
    """Render a workflow command for each finding; empty if there are none."""
    return "".join(f"{command(finding)}\n" for finding in scan.findings)


def command(finding: Finding) -> str:
    """Format a finding as `::warning file=...,line=...::message`, with its advice on another line."""
    span = finding.span
    path, cell = split_cell(finding.path)
    # Of a notebook, GitHub knows the lines of the JSON: the cell stands in the message.
    properties: dict[str, object] = {"file": path}
    if cell is None:
        properties |= {"line": span.line, "endLine": span.end_line}
    # GitHub draws columns only within one line, and counts the last one in.
    if span.line == span.end_line and cell is None:
        properties |= {"col": span.column, "endColumn": max(span.end_column - 1, span.column)}
    properties["title"] = f"{finding.code} {rule_name(finding.code)}"
    listed = ",".join(f"{name}={escape_property(str(value))}" for name, value in properties.items())
    text = "\n".join(filter(None, [describe_message(finding), finding.advice, describe_evidence(finding)]))
    return f"::{LEVELS[finding.severity]} {listed}::{escape(text)}"


def escape(text: str) -> str:
    """Escape `text` as the message of a workflow command."""
    return "".join(ENCODED.get(char) or escape_character(char) for char in text)


def escape_property(text: str) -> str:
    """Escape `text` as the value of a property, which a comma or a colon would end."""
    return escape(text).replace(":", "%3A").replace(",", "%2C")

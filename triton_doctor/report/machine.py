"""A machine and what is wrong with it, to text, JSON or Markdown."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from triton_doctor.report import MachineForm
from triton_doctor.report.concise import count_severities, plural
from triton_doctor.report.machine_facts import fact_rows, variable_rows
from triton_doctor.report.machine_text import text_lines
from triton_doctor.report.markup import escape_markdown, table_lines
from triton_doctor.rulebook import rule_name
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import MachineFinding
    from triton_doctor.machine.facts import Machine
    from triton_doctor.variables import Variable, Version

SCHEMA = 1


def render_machine(
    machine: Machine,
    findings: Sequence[MachineFinding],
    version: Version,
    form: MachineForm,
    *,
    color: bool = False,
    width: int = 120,
) -> str:
    """All of it in `form`; variables as Triton `version` reads them. `color` and `width` are of the text."""
    match form:
        case MachineForm.TEXT:
            lines = [*text_lines(machine, findings, version, color=color, width=width), summarize(machine, findings)]
        case MachineForm.MARKDOWN:
            lines = [*markdown_lines(machine, findings, version), summarize(machine, findings)]
        case MachineForm.JSON:
            lines = [json.dumps(machine_object(machine, findings, version), indent=2, ensure_ascii=False)]
    return "\n".join(lines) + "\n"


def markdown_lines(machine: Machine, findings: Sequence[MachineFinding], version: Version) -> Iterator[str]:
    """For an issue: a table of facts, one of variables, and the findings as a list."""
    yield from table_lines([("fact", "value"), *fact_rows(machine)])
    yield ""
    settings = [(f"`{setting}`", text) for setting, text in variable_rows(machine, version)]
    if settings:
        yield from table_lines([("variable", f"in triton {version}"), *settings])
        yield ""
    for finding in findings:
        title = f"- **{finding.code} {rule_name(finding.code)}** ({finding.severity.label})"
        remedy = f"{finding.remedy}" + (f": `{finding.command}`" if finding.command else "")
        yield f"{title}: {escape_markdown(finding.message)}"
        yield from (f"  - {escape_markdown(text)}" for text in (finding.evidence, remedy))
    if findings:
        yield ""


def summarize(machine: Machine, findings: Sequence[MachineFinding]) -> str:
    """How much is wrong, in one line."""
    if not findings:
        limit = "" if machine.triton else ", as far as can be told without triton"
        return f"nothing is wrong with this machine{limit}"
    return count_severities(findings)


def machine_object(machine: Machine, findings: Sequence[MachineFinding], version: Version) -> dict[str, Any]:
    """All of it as plain values."""
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "triton_version": str(version),
        "facts": asdict(machine),
        "findings": [
            {
                "code": finding.code,
                "name": rule_name(finding.code),
                "severity": finding.severity.label,
                "message": finding.message,
                "evidence": finding.evidence,
                "remedy": finding.remedy,
                "command": finding.command,
            }
            for finding in findings
        ],
    }


def render_variables(rows: Sequence[Variable], version: Version, form: MachineForm) -> str:
    """The variables that Triton `version` reads, each with its default, effect and moment."""
    if form is MachineForm.JSON:
        listed = [
            {
                "name": row.name,
                "default": row.default or None,
                "effect": row.effect,
                "read": row.read or None,
                "in_key": row.enters_key(version),
                "knobs": list(row.knobs),
            }
            for row in rows
        ]
        return json.dumps({"schema": SCHEMA, "triton_version": str(version), "variables": listed}, indent=2) + "\n"
    if form is MachineForm.MARKDOWN:
        cells = [(f"`{row.name}`", f"{row.effect}; default: {row.default or 'unset'}") for row in rows]
        return "\n".join(table_lines([("variable", f"in triton {version}"), *cells])) + "\n"
    lines = []
    for row in rows:
        key = ", in the cache key" if row.enters_key(version) else ""
        moment = f", read: {row.read}" if row.read else ""
        lines += [row.name, f"    {row.effect}; default: {row.default or 'unset'}{moment}{key}"]
    return "\n".join([*lines, f"triton {version} reads {plural(len(rows), 'such variable')}"]) + "\n"

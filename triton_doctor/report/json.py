"""A scan as JSON, schema 1: every key always there, null where it does not apply."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from triton_doctor.finding import split_cell
from triton_doctor.rulebook import rule_name
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from triton_doctor.finding import Evidence, Finding, HintNote
    from triton_doctor.static.scan import Scan

SCHEMA = 1


def render_json(scan: Scan) -> str:
    """Render `scan` as a JSON object."""
    document = {
        "schema": SCHEMA,
        "tool_version": __version__,
        "findings": [finding_object(finding) for finding in scan.findings],
        "summary": asdict(scan.summary),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def finding_object(finding: Finding) -> dict[str, Any]:
    """Convert `finding` to values for JSON, as the schema has it."""
    facts = finding.facts
    path, cell = split_cell(finding.path)
    return {
        "code": finding.code,
        "name": rule_name(finding.code),
        "severity": finding.severity.label,
        "path": path,
        "cell": cell,
        "line": finding.span.line,
        "column": finding.span.column,
        "end_line": finding.span.end_line,
        "end_column": finding.span.end_column,
        "message": finding.message,
        "kernel": facts.kernel,
        "kernel_path": split_cell(facts.kernel_location.path)[0] if facts.kernel_location else None,
        "kernel_line": facts.kernel_location.line if facts.kernel_location else None,
        "parameter": facts.parameter,
        "variability": facts.variability,
        "bound": facts.bound,
        "use": facts.use,
        "trail": [asdict(step) | _file_and_cell(step.path) for step in finding.trail],
        "also": [asdict(place) | _file_and_cell(place.path) for place in facts.also],
        "autotune_keys": list(facts.autotune_keys),
        "follows": list(facts.follows),
        "hints": [hint_object(hint) for hint in facts.hints],
        "fixable": finding.fixable,
        "evidence": evidence_object(finding.evidence) if finding.evidence else None,
    }


def hint_object(hint: HintNote) -> dict[str, Any]:
    """Convert `hint` to values for JSON, as the schema has it."""
    place = hint.location
    return {
        "name": hint.name,
        "toward": hint.toward,
        "weight": hint.weight,
        **(_file_and_cell(place.path) if place is not None else {"path": None, "cell": None}),
        "line": place.line if place is not None else None,
    }


def _file_and_cell(path: str) -> dict[str, Any]:
    """Return the keys of a place: the file, and the number of a notebook's cell, counted from 1, or None."""
    name, cell = split_cell(path)
    return {"path": name, "cell": cell}


def evidence_object(evidence: Evidence) -> dict[str, Any]:
    """Convert the evidence of recordings for JSON; `verdict` is confirmed, cleared, not_exercised or added."""
    return {
        "verdict": evidence.verdict.value,
        "text": evidence.text,
        "values": evidence.values,
        "launches": evidence.launches,
        "compiled": evidence.compiled,
        "from_disk": evidence.from_disk,
        "rounds": evidence.rounds,
        "waited_ms": None if evidence.dry else evidence.waited_us / 1000,
        "dry": evidence.dry,
    }

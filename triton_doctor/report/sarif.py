"""A scan as SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

import json
import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from triton_doctor.finding import Severity, split_cell
from triton_doctor.report.concise import describe_evidence, describe_message
from triton_doctor.report.json import evidence_object, hint_object
from triton_doctor.rulebook import installed_home, page_paths, read_page, rule_name
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triton_doctor.finding import Finding, Span
    from triton_doctor.plan import Plan, Replacement
    from triton_doctor.static.scan import Scan

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render_sarif(scan: Scan, replaced: Callable[[Finding], Sequence[Replacement]] = lambda finding: ()) -> str:
    """Render a SARIF log with one run and the rules that were found. `replaced` gives what a fix replaces."""
    codes = sorted({finding.code for finding in scan.findings})
    document = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "triton-doctor",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "informationUri": installed_home().uri,
                        "rules": [rule_object(code) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [result(finding, codes.index(finding.code), replaced(finding)) for finding in scan.findings],
            }
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def rule_object(code: str) -> dict[str, Any]:
    """Build the reportingDescriptor of `code`, with its page as help."""
    if code not in page_paths():
        return {"id": code}
    page, home = read_page(code), installed_home()
    help_text = home.link_pages(page.markdown)
    return {
        "id": code,
        "name": page.name,
        "shortDescription": {"text": page.summary},
        "fullDescription": {"text": dict(page.sections).get("What it does", page.summary)},
        "helpUri": home.page_uri(code),
        "help": {"text": help_text, "markdown": help_text},
        "defaultConfiguration": {"level": LEVELS[page.severity]},
    }


def fix_object(plan: Plan, replaced: Sequence[Replacement]) -> dict[str, Any]:
    """Build the fix object of `plan`: a change for each file."""
    by_path: dict[str, list[dict[str, Any]]] = {}
    for edit in replaced:
        region = dict(zip(("startLine", "startColumn", "endLine", "endColumn"), (*edit.start, *edit.end), strict=True))
        replacement = {"deletedRegion": region, "insertedContent": {"text": edit.text}}
        by_path.setdefault(edit.path, []).append(replacement)
    changes = [{"artifactLocation": location(path), "replacements": found} for path, found in by_path.items()]
    return {"description": {"text": f"{plan.title} ({plan.safety})"}, "artifactChanges": changes}


def result(finding: Finding, rule_index: int, replaced: Sequence[Replacement]) -> dict[str, Any]:
    """Build the result object of `finding`; its trail and its other launches are related locations."""
    steps = [(step.path, step.line, step.text) for step in finding.trail]
    others = [(place.path, place.line, "also launched here") for place in finding.facts.also]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": LEVELS[finding.severity],
        "message": {
            "text": "\n".join(filter(None, [describe_message(finding), finding.advice, describe_evidence(finding)]))
        },
        "locations": [{"physicalLocation": physical_location(finding.path, region(finding.span))}],
        "relatedLocations": [
            {
                "id": number,
                "physicalLocation": physical_location(path, {"startLine": line}),
                "message": {"text": text},
            }
            for number, (path, line, text) in enumerate(steps + others)
        ],
        "properties": {
            "name": rule_name(finding.code),
            **({"evidence": evidence_object(finding.evidence)} if finding.evidence else {}),
            **({"hints": [hint_object(hint) for hint in finding.facts.hints]} if finding.facts.hints else {}),
        },
        **({"fixes": [fix_object(finding.fix, replaced)]} if finding.fix is not None and replaced else {}),
    }


def physical_location(path: str, region: dict[str, int]) -> dict[str, Any]:
    """Build the location of `region` in `path`, relative to the working directory if it is below it.

    A notebook is located as a whole, because lines would be those of its JSON.
    """
    name, cell = split_cell(path)
    return {"artifactLocation": location(name), "region": region if cell is None else {"startLine": 1}}


def location(path: str) -> dict[str, str]:
    """Build the artifactLocation of the file at `path`."""
    quoted = quote(os.fsencode(path))  # a name need not be UTF-8
    return {"uri": f"file://{quoted}" if PurePosixPath(path).is_absolute() else quoted}


def region(span: Span) -> dict[str, int]:
    """Convert `span` to a region: SARIF also counts from 1 and excludes the end column."""
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }

"""A scan as counts: one line a rule, the most frequent first, and a summary."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from triton_doctor.report.concise import summarize, summarize_evidence
from triton_doctor.rulebook import rule_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.finding import Finding
    from triton_doctor.static.scan import Scan


def render_statistics(scan: Scan) -> str:
    """Count, code and name of each rule that was found."""
    ordered = count_rules(scan.findings)
    width = len(str(ordered[0][0])) if ordered else 0
    lines = [f"{count:>{width}}  {code}  {rule_name(code)}" for count, code in ordered]
    return "\n".join([*lines, *summarize_evidence(scan), summarize(scan)]) + "\n"


def count_rules(findings: Iterable[Finding]) -> list[tuple[int, str]]:
    """How often each rule was found, the most frequent first, of equals by code."""
    counts = Counter(finding.code for finding in findings)
    return sorted(((count, code) for code, count in counts.items()), key=lambda one: (-one[0], one[1]))


def tell_counts(findings: Iterable[Finding]) -> str:
    """`234 TRD206, 1 TRD104`."""
    return ", ".join(f"{count:,} {code}" for count, code in count_rules(findings))

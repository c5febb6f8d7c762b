"""A scan as counts: one line a rule, the most frequent first, and a summary."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from triton_doctor.report.concise import summarize, summarize_evidence
from triton_doctor.rulebook import rule_name

if TYPE_CHECKING:
    from triton_doctor.static.scan import Scan


def render_statistics(scan: Scan) -> str:
    """Count, code and name of each rule that was found."""
    counts = Counter(finding.code for finding in scan.findings)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    width = len(str(ordered[0][1])) if ordered else 0
    lines = [f"{count:>{width}}  {code}  {rule_name(code)}" for code, count in ordered]
    return "\n".join([*lines, *summarize_evidence(scan), summarize(scan)]) + "\n"

"""What recordings say of a scan, before the findings: those that a run confirmed, dearest first, then those cleared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Verdict
from triton_doctor.report.concise import summarize_evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.finding import Evidence, Finding
    from triton_doctor.static.scan import Scan

# With their heading and what follows, less than a screen of 24 lines.
CONFIRMED_SHOWN, CLEARED_SHOWN = 8, 4


def tell_verdicts(scan: Scan) -> Iterator[str]:
    """A line for each verdict; none where no recording was given, or none says anything."""
    judged = [(one, one.evidence) for one in scan.findings if one.evidence is not None]
    proven = [pair for pair in judged if pair[1].verdict in (Verdict.CONFIRMED, Verdict.ADDED)]
    cleared = [pair for pair in judged if pair[1].verdict is Verdict.CLEARED]
    if not proven and not cleared:
        return
    yield from summarize_evidence(scan)
    yield from _tell(sorted(proven, key=lambda pair: -pair[1].waited_us), CONFIRMED_SHOWN)
    yield from _tell(cleared, CLEARED_SHOWN)


def _tell(pairs: list[tuple[Finding, Evidence]], at_most: int) -> Iterator[str]:
    for finding, evidence in pairs[:at_most]:
        facts = finding.facts
        names: Iterable[str] = (f"`{name}`" for name in (facts.parameter, facts.kernel) if name is not None)
        what = " of ".join(names) or finding.path
        yield f"  {evidence.label}: {finding.code} {what}: {evidence.text}"
    if len(pairs) > at_most:
        yield f"  and {len(pairs) - at_most:,} {pairs[0][1].label} more"

"""A scan as lines: `path:line:column: severity: CODE message` a finding, counts by rule, verdicts of recordings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from triton_doctor.finding import Severity, Verdict, split_cell
from triton_doctor.phrases import plural
from triton_doctor.rulebook import rule_name
from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.finding import Evidence, Finding
    from triton_doctor.static.scan import Scan


def render_concise(scan: Scan) -> str:
    """Render a line for each finding, then the summary."""
    lines = [
        escape_line(
            f"{finding.path}:{finding.span.line}:{finding.span.column}: {finding.severity.label}: {finding.code} "
            + finding.message
            + (f" ({describe_evidence(finding)})" if finding.evidence else "")
        )
        for finding in scan.findings
    ]
    return "\n".join([*lines, *summarize_evidence(scan), summarize(scan)]) + "\n"


def describe_message(finding: Finding) -> str:
    """Return the message; for a notebook it begins with the cell and its line, as some forms know file lines only."""
    _, cell = split_cell(finding.path)
    return finding.message if cell is None else f"cell {cell}, line {finding.span.line}: {finding.message}"


def describe_evidence(finding: Finding) -> str | None:
    """Format what recorded runs say of `finding`: `confirmed: 37 values seen, 37 compiles`; None if nothing."""
    evidence = finding.evidence
    return str(evidence) if evidence else None


def summarize_evidence(scan: Scan) -> list[str]:
    """Return the line that counts the verdicts of recordings, in a list; empty if there are none."""
    judged = [finding.evidence for finding in scan.findings if finding.evidence]
    order = {verdict: number for number, verdict in enumerate(Verdict)}
    judged.sort(key=lambda evidence: (order[evidence.verdict], evidence.dry))
    counts = Counter(evidence.label for evidence in judged)
    labels = [f"{count:,} {label}" for label, count in counts.items()]
    return [f"by the recordings: {', '.join(labels)}"] if labels else []


def summarize(scan: Scan) -> str:
    """Return the line that says how much was found, in how much."""
    looked = ", ".join(
        [
            plural(scan.summary.files_seen, "file"),
            plural(scan.summary.kernels, "kernel"),
            plural(scan.summary.launches, "launch") + describe_unresolved(scan),
        ]
    )
    if scan.summary.constexprs_undecided:
        constexprs = plural(scan.summary.constexprs_undecided, "constexpr")
        looked += f"; {constexprs} may or may not change (`--show undecided`)"
    return f"{count_findings(scan)} in {looked}"


def count_findings(scan: Scan) -> str:
    """Return how many findings there are of each severity, and which can be fixed by which flags.

    `4 errors, 13 warnings (fixable: 12 with `--fix`), 41 notes`; `no problems` without any.
    """
    failing = [finding for finding in scan.findings if finding.severity >= scan.fail_on]
    others = [finding for finding in scan.findings if finding.severity < scan.fail_on]
    parts = [
        count_severities(finding.severity for finding in failing) + _count_fixable(failing),
        count_severities(finding.severity for finding in others),
    ]
    parts = [part for part in parts if part]
    return ", ".join(parts) or "no problems"


def count_severities(severities: Iterable[Severity]) -> str:
    """Return how many there are of each: `1 error, 2 warnings`."""
    counts = Counter(severities)
    words = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "note"))
    return ", ".join(plural(counts[severity], word) for severity, word in words if counts[severity])


def _count_fixable(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.fixable for finding in findings)
    kinds = (("safe", "--fix"), ("unsafe", "--fix --unsafe-fixes"))
    parts = [f"{counts[kind]:,} with `{flag}`" for kind, flag in kinds if counts[kind]]
    return f" (fixable: {', '.join(parts)})" if parts else ""


def describe_unresolved(scan: Scan) -> str:
    """Format how many of the launches start a kernel that was not found: ` (3 of unknown kernels)`; none for 0."""
    count = scan.summary.launches - scan.summary.launches_resolved
    return f" ({count:,} of unknown kernels)" if count else ""


def render_statistics(scan: Scan) -> str:
    """Render the number of findings, the code and the name of each rule that was found, then the summary."""
    ordered = count_rules(scan.findings)
    width = len(str(ordered[0][0])) if ordered else 0
    lines = [f"{count:>{width}}  {code}  {rule_name(code)}" for count, code in ordered]
    return "\n".join([*lines, *summarize_evidence(scan), summarize(scan)]) + "\n"


def count_rules(findings: Iterable[Finding]) -> list[tuple[int, str]]:
    """Return (count, code) of each rule in `findings`, the most frequent first, ties by code."""
    counts = Counter(finding.code for finding in findings)
    return sorted(((count, code) for code, count in counts.items()), key=lambda pair: (-pair[0], pair[1]))


def describe_counts(findings: Iterable[Finding]) -> str:
    """Format the findings by rule: `234 TRD206, 1 TRD104`."""
    return ", ".join(f"{count:,} {code}" for count, code in count_rules(findings))


# With their heading and what follows, less than a screen of 24 lines.
CONFIRMED_SHOWN, CLEARED_SHOWN = 8, 4


def describe_verdicts(scan: Scan) -> Iterator[str]:
    """Yield lines on the findings that recordings confirmed, added or cleared; none without such findings."""
    judged = [(finding, finding.evidence) for finding in scan.findings if finding.evidence is not None]
    proven = [pair for pair in judged if pair[1].verdict in (Verdict.CONFIRMED, Verdict.ADDED)]
    cleared = [pair for pair in judged if pair[1].verdict is Verdict.CLEARED]
    if not proven and not cleared:
        return
    yield from summarize_evidence(scan)
    yield from _describe_pairs(sorted(proven, key=lambda pair: -pair[1].waited_us), CONFIRMED_SHOWN)
    yield from _describe_pairs(cleared, CLEARED_SHOWN)


def _describe_pairs(pairs: list[tuple[Finding, Evidence]], at_most: int) -> Iterator[str]:
    for finding, evidence in pairs[:at_most]:
        facts = finding.facts
        names: Iterable[str] = (f"`{name}`" for name in (facts.parameter, facts.kernel) if name is not None)
        what = " of ".join(names) or finding.path
        yield f"  {evidence.label}: {finding.code} {what}: {evidence.text}"
    if len(pairs) > at_most:
        yield f"  and {len(pairs) - at_most:,} {pairs[0][1].label} more"

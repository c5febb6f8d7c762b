"""A scan as the reports get it, built by hand: a finding with everything, and one with nothing beside its message."""

from __future__ import annotations

from triton_doctor.finding import Facts, Finding, Location, Severity, Span, Step
from triton_doctor.report import View
from triton_doctor.static.scan import Scan, Summary

ATTENTION = """\
import torch

def attend(lengths, mask):
\tbs = lengths.max().item()
    attention_kernel[(8,)](
        mask,  # \N{LATIN SMALL LETTER U WITH DIAERESIS}
        BATCH=bs, WIDTH=64,
    )
"""
FULL = Finding(
    path="src/[new]/attention.py",
    span=Span(7, 15, 7, 17),
    code="TRD900",
    severity=Severity.ERROR,
    message="`BATCH` of `attention_kernel` compiles again for each value of `lengths.max().item()`",
    advice="pass it as a plain argument: the kernel only reads it",
    facts=Facts(
        kernel="attention_kernel",
        kernel_location=Location("src/[new]/kernels.py", 3),
        parameter="BATCH",
        parameter_location=Location("src/[new]/kernels.py", 5),
        variability="per_call",
        use="read",
        also=(Location("src/other.py", 20), Location("src/other.py", 30)),
    ),
    trail=(
        Step("src/[new]/attention.py", 4, "`.item()` reads what a tensor holds"),
        Step("src/[new]/attention.py", 7, "`bs` is `BATCH`"),
    ),
)
BARE = Finding(
    path="/elsewhere/100%.py",
    span=Span(1, 1, 1, 2),
    code="TRD901",
    severity=Severity.INFO,
    message="`ignore[TRD201]` silences nothing",
)
SUMMARY = Summary(files_seen=1214, files_read=30, kernels=1, launches=9, launches_resolved=8, seconds=0.25)
SCAN = Scan(findings=(BARE, FULL), summary=SUMMARY)
CLEAN = Scan(findings=(), summary=SUMMARY)


def view(*, color: bool = False, width: int = 80) -> View:
    lines = {"src/[new]/attention.py": ATTENTION.splitlines()}
    return View(lines_of=lambda path: lines.get(path, ()), color=color, width=width)

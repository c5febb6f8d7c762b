"""Fingerprints of findings, stable when lines move and code is formatted: of rule, kernel, parameter and text."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from triton_doctor.static.python.formatting import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.finding import Finding, Span

_DIGITS = 16


def source_text(finding: Finding, lines: Sequence[str]) -> str:
    """Return the text in the finding's span, normalized for formatting; `lines` are those of its file."""
    text = cut(lines, finding.span)
    return normalize(text) if finding.path.endswith(".py") else " ".join(text.split())


def fingerprint(finding: Finding, text: str) -> str:
    """Return the fingerprint of the rule, the kernel, the parameter and `text`, as returned by `source_text`."""
    parts = (finding.code, finding.facts.kernel or "", finding.facts.parameter or "", text)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def cut(lines: Sequence[str], span: Span) -> str:
    """Return the characters of `span`; empty if the file has no such lines."""
    chosen = list(lines[span.line - 1 : span.end_line])
    if not chosen:
        return ""
    if span.end_line <= len(lines):
        chosen[-1] = chosen[-1][: span.end_column - 1]
    chosen[0] = chosen[0][span.column - 1 :]
    return "\n".join(chosen)

"""A finding to a fingerprint that stays when lines move and when code is formatted: of its rule, kernel, text."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from triton_doctor.static.python.formatting import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.finding import Finding, Span

_DIGITS = 16


def source_text(finding: Finding, lines: Sequence[str]) -> str:
    """What stands in the finding's span, as it would be written whatever the formatter; `lines` are its file's."""
    text = cut(lines, finding.span)
    return normalize(text) if finding.path.endswith(".py") else " ".join(text.split())


def fingerprint(finding: Finding, text: str) -> str:
    """Of the rule, the kernel, the parameter and `text`, as `source_text` gives it."""
    parts = (finding.code, finding.facts.kernel or "", finding.facts.parameter or "", text)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def cut(lines: Sequence[str], span: Span) -> str:
    """The characters of `span`; nothing where the file has no such lines."""
    chosen = list(lines[span.line - 1 : span.end_line])
    if not chosen:
        return ""
    if span.end_line <= len(lines):
        chosen[-1] = chosen[-1][: span.end_column - 1]
    chosen[0] = chosen[0][span.column - 1 :]
    return "\n".join(chosen)

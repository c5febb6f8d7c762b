"""Adds comments to a source that silence findings, at the ends of lines where a comment is possible."""

from __future__ import annotations

import io
import re
import tokenize
from collections import defaultdict
from typing import TYPE_CHECKING

from triton_doctor.static.sources.directives import DirectiveKind, read_comment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from triton_doctor.finding import Finding

# A lone carriage return ends a line for Python's parser, but not for its tokenizer.
LONE_RETURN = re.compile(rb"\r(?!\n)")
# Tokens around an f-string (python 3.12 on): before 3.12, a comment within one is none.
_BEGINS = frozenset({getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "TSTRING_START", -1)}) - {-1}
_ENDS = frozenset({getattr(tokenize, "FSTRING_END", -1), getattr(tokenize, "TSTRING_END", -1)}) - {-1}


def add_ignores(source: bytes, findings: Iterable[Finding], reason: str) -> tuple[bytes, tuple[Finding, ...]]:
    """Return `source` with comments that silence as many of `findings` as possible, and the other findings.

    Only ends of lines change: line ends, encoding and the text after the last line stay. An existing comment receives
    the additional codes and keeps its reason. Raises UnicodeEncodeError if the file's encoding cannot represent
    `reason`.
    """
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(source).readline)[0].removesuffix("-sig")
        ends = {} if LONE_RETURN.search(source) else ends_of_lines(source)
    except (tokenize.TokenError, SyntaxError, ValueError):
        return source, tuple(findings)
    codes: defaultdict[int, set[str]] = defaultdict(set)
    left = []
    for finding in findings:
        line = next((line for line in _lines(finding) if line in ends), None)
        if line is None:
            left.append(finding)
        else:
            codes[line].add(finding.code)
    lines = source.split(b"\n")
    for line, of_line in codes.items():
        lines[line - 1] = _extend(lines[line - 1], sorted(of_line), ends[line], reason, encoding)
    return b"\n".join(lines), tuple(left)


def ends_of_lines(source: bytes) -> Mapping[int, str]:
    """Return the lines, from 1, at whose end a comment is possible, with the existing comment, or an empty string.

    Not within a string, and not before a backslash continuation. Raises what `tokenize` raises.
    """
    found: dict[int, str] = {}
    depth = 0
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        depth += (token.type in _BEGINS) - (token.type in _ENDS)
        if depth == 0 and token.type == tokenize.COMMENT:
            found[token.start[0]] = token.string
        elif depth == 0 and token.type in (tokenize.NEWLINE, tokenize.NL):
            found.setdefault(token.start[0], "")
    return found


def _lines(finding: Finding) -> Sequence[int]:
    """Return the lines at which a comment silences it, the best first."""
    spans = [finding.span, *([finding.facts.launch] if finding.facts.launch else [])]
    lines = [line for span in spans for line in range(span.line, span.end_line + 1)]
    location = finding.facts.parameter_location
    return [*lines, *([location.line] if location is not None and location.path == finding.path else [])]


def _extend(line: bytes, codes: Sequence[str], comment: str, reason: str, encoding: str) -> bytes:
    body = line.rstrip(b"\r")
    end = line[len(body) :]
    known = next(
        (mark for mark in read_comment(comment, 1, 0) if mark.word is DirectiveKind.IGNORE and mark.codes), None
    )
    if known is None:
        code = body.rstrip(b" \t\f")
        ignore_comment = f"# triton-doctor: ignore[{', '.join(codes)}]" + (f" {reason}" if reason else "")
        return code + (b"  " if code else b"") + ignore_comment.encode(encoding) + end
    after = comment[known.span.end_column - 2 :]
    kept = body[: len(body) - len(after.encode(encoding))]
    new = [code for code in codes if code not in known.codes]
    return kept + f", {', '.join(new)}{after}".encode(encoding) + end if new else line

"""Text to Directive: the `# triton-doctor: ignore[TRD201] reason` comments of a file."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from triton_doctor.finding import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = b"triton-doctor:"
COMMENT = re.compile(r"#\s*triton-doctor:\s*(?P<word>[\w-]*)(?P<codes>\s*\[(?P<inner>[^\]]*)\])?")


class DirectiveKind(Enum):
    """The verb of a directive; `ENABLE` ends the range that `DISABLE` began."""

    IGNORE = "ignore"
    IGNORE_FILE = "ignore-file"
    DISABLE = "disable"
    ENABLE = "enable"


@dataclass(frozen=True, slots=True)
class Directive:
    """One comment to this tool.

    `word` is None if the verb is unknown. `codes` are whole codes or prefixes; empty if the comment names none.
    """

    span: Span
    text: str
    word: DirectiveKind | None
    codes: tuple[str, ...]


def read_python_directives(source: bytes) -> tuple[Directive, ...]:
    """Return the directives of a Python file, from comments only. Empty if the file does not tokenize."""
    if MARK not in source:
        return ()
    try:
        tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return ()
    comments = (token for token in tokens if token.type == tokenize.COMMENT)
    return tuple(found for token in comments for found in read_comment(token.string, *token.start))


def read_hash_directives(source: bytes) -> tuple[Directive, ...]:
    """Return the directives of a settings file, where `#` at the start of a line or after a space begins a comment."""
    if MARK not in source:
        return ()
    lines = enumerate(source.decode("utf-8", errors="replace").splitlines(), start=1)
    return tuple(
        found
        for number, line in lines
        if (start := re.search(r"(?:^|(?<=\s))#", line))
        for found in read_comment(line[start.start() :], number, start.start())
    )


def read_comment(comment: str, line: int, offset: int) -> Iterator[Directive]:
    """Yield the directives in `comment`, which begins `offset` characters into `line`."""
    for match in COMMENT.finditer(comment):
        word = match["word"]
        yield Directive(
            span=Span(line, offset + match.start() + 1, line, offset + match.end() + 1),
            text=match[0],
            word=next((known for known in DirectiveKind if known.value == word), None),
            codes=tuple(code for part in (match["inner"] or "").split(",") if (code := part.strip())),
        )

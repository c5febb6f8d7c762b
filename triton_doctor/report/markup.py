"""Text to Markdown that shows it as it is: no HTML, no links and no broken tables by the names that stand in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Outside of code; `<` begins HTML, `[` a link, and a backslash would take the meaning from what follows.
SPECIAL = re.compile(r"([\\\[*])")
RUN_OF_BACKTICKS = re.compile(r"`{2,}")


def escape_markdown(text: str) -> str:
    """Escape `text` as one line of Markdown; what it has between backticks remains code."""
    text = RUN_OF_BACKTICKS.sub(lambda run: "\\x60" * len(run[0]), escape_line(text))
    parts = text.split("`")
    closed = len(parts) - 1 - (len(parts) - 1) % 2
    shown = [part if index % 2 and index < closed else escape_prose(part) for index, part in enumerate(parts)]
    return "`".join(shown) if closed == len(parts) - 1 else "`".join(shown[:-1]) + "\\`" + shown[-1]


def escape_prose(text: str) -> str:
    """Escape `text` without code for Markdown."""
    return SPECIAL.sub(r"\\\1", text).replace("&", "&amp;").replace("<", "&lt;")


def table_lines(rows: Iterable[Sequence[str]], *, numbers: bool = False) -> Iterator[str]:
    """Yield a Markdown table; the first of `rows` is its head.

    `numbers` aligns all columns but the first to the right.
    """
    for number, row in enumerate(rows):
        yield f"| {' | '.join(escape_markdown(cell).replace('|', chr(92) + '|') for cell in row)} |"
        if number == 0:
            yield f"| --- |{(' ---: |' if numbers else ' --- |') * (len(row) - 1)}"

"""The code frame of a finding: its lines with numbers, and the span underlined."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from triton_doctor.terminal import environment_of_console, escape_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from triton_doctor.finding import Finding

CONTEXT_LINES = 1
SPAN_LINES_SHOWN = 6
TAB = "    "
CUT = "..."
NARROWEST = 40
# Wrapping asks a console for nothing but its tab size; to make one costs more than to wrap.
MEASURE = Console(file=io.StringIO(), _environ=environment_of_console())


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a finding's lines are drawn, and how wide."""

    lines_of: Callable[[str], Sequence[str]]
    finding: Finding
    width: int

    @property
    def margin(self) -> str:
        """Return spaces as wide as the largest line number of the frame."""
        numbers = [self.finding.span.end_line + CONTEXT_LINES, *(step.line for step in self.finding.trail)]
        return " " * len(str(max(numbers)))

    @property
    def place(self) -> tuple[str, int]:
        """Return the path and the first line of the finding."""
        return (self.finding.path, self.finding.span.line)

    @property
    def room(self) -> int:
        """Return how many columns are left for code."""
        return max(self.width - len(self.margin) - len(" | "), len(CUT) * 2)


def draw_frame(frame: Frame, style: str) -> Iterator[Text]:
    """Yield the lines of the span with CONTEXT_LINES around them; the span is underlined or marked in `style`.

    Nothing if the file cannot be read, or if the span is empty because the finding concerns the whole file.
    """
    span, lines = frame.finding.span, frame.lines_of(frame.finding.path)
    if span.line > len(lines) or (span.line, span.column) == (span.end_line, span.end_column):
        return
    last = min(span.end_line, len(lines))
    alone = span.line == last
    skipped = columns_skipped(frame, lines[last - 1]) if alone else 0
    yield bar(frame)
    for number in range(max(span.line - CONTEXT_LINES, 1), min(last + CONTEXT_LINES, len(lines)) + 1):
        if span.line + SPAN_LINES_SHOWN <= number < last:
            if number == span.line + SPAN_LINES_SHOWN:
                yield bar(frame, CUT)
            continue
        inside = span.line <= number <= last
        mark = (">", style) if inside and not alone else None
        yield from draw_line(frame, frame.finding.path, number, mark=mark, skipped=skipped)
        if inside and alone:
            yield underline(frame, lines[number - 1], style, skipped)
    yield bar(frame)


def columns_skipped(frame: Frame, text: str) -> int:
    """Return how many columns of `text` to skip on the left so that the span of a long line is visible."""
    span = frame.finding.span
    start, end = (cell_len(printable(text[: column - 1])) for column in (span.column, span.end_column))
    return 0 if end <= frame.room - len(CUT) else max(start - frame.room // 2, 0)


def underline(frame: Frame, text: str, style: str, skipped: int) -> Text:
    """Draw the carets below `text`, the only line of the span."""
    start, end = frame.finding.span.column - 1, frame.finding.span.end_column - 1
    carets = max(cell_len(printable(text[start:end])), 1)
    return bar(frame, " " * (cell_len(printable(text[:start])) - skipped) + "^" * carets, style)


def draw_line(
    frame: Frame, path: str, number: int, *, mark: tuple[str, str] | None = None, skipped: int = 0
) -> Iterator[Text]:
    """Yield line `number` of `path`, after its number and `mark` (character, style); nothing if it is missing."""
    lines = frame.lines_of(path)
    if 1 <= number <= len(lines):
        label = f"{number:>{len(frame.margin)}} |"
        code = crop(printable(lines[number - 1]).rstrip(), frame.room, skipped)
        line = Text.assemble((label, "blue"), mark or " ", code)
        line.rstrip()
        yield line


def crop(code: str, room: int, skipped: int) -> str:
    """Shorten `code` to `room` columns after skipping its first `skipped` columns; CUT marks what is missing."""
    width = cell_len(code)
    if skipped and width > skipped:
        code = CUT + chop_cells(code, skipped + len(CUT))
    elif skipped:
        code = ""
    return code if cell_len(code) <= room else set_cell_size(code, room - len(CUT)) + CUT


def chop_cells(code: str, columns: int) -> str:
    """Remove the first `columns` terminal columns of `code`."""
    while columns > 0 and code:
        columns -= cell_len(code[0])
        code = code[1:]
    return code


def bar(frame: Frame, text: str = "", style: str = "") -> Text:
    """Draw a line of the frame that is not from the file, cut at the frame's width."""
    line = Text.assemble((f"{frame.margin} | ", "blue"), (text[: frame.room], style))
    line.rstrip()
    return line


def printable(text: str) -> str:
    """Replace tabs by spaces, and unprintable characters by U+FFFD."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text.replace("\t", TAB))


def hang(lead: str, text: str, width: int) -> Iterator[Text]:
    """Wrap `text` to `width`: the first line after `lead`, the others indented as far; `quoted` words are bold."""
    body = Text(escape_line(text))
    body.highlight_regex(r"`[^`]+`", "bold")
    room = max(width - len(lead), NARROWEST // 2)
    wrapped = [body] if cell_len(body.plain) <= room else body.wrap(MEASURE, room)
    for number, line in enumerate(wrapped):
        line.rstrip()
        yield Text.assemble((lead if number == 0 else " " * len(lead), "cyan"), line)

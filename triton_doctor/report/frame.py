"""The code frame of a finding: its lines with numbers, and the span underlined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from triton_doctor.finding import Finding

CONTEXT_LINES = 1
SPAN_LINES_SHOWN = 6
TAB = "    "


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a finding's lines are drawn, and how wide."""

    lines_of: Callable[[str], Sequence[str]]
    finding: Finding
    width: int

    @property
    def margin(self) -> str:
        """Blanks as wide as the widest line number of the block."""
        numbers = [self.finding.span.end_line + CONTEXT_LINES, *(step.line for step in self.finding.trail)]
        return " " * len(str(max(numbers)))

    @property
    def place(self) -> tuple[str, int]:
        """Path and first line of the span."""
        return (self.finding.path, self.finding.span.line)


def draw_frame(frame: Frame, style: str) -> Iterator[Text]:
    """The lines of the span with one around, in `style` the span underlined, or marked where it has many lines.

    Nothing where the file is unreadable.
    """
    span, lines = frame.finding.span, frame.lines_of(frame.finding.path)
    if span.line > len(lines):
        return
    last = min(span.end_line, len(lines))
    yield bar(frame)
    for number in range(max(span.line - CONTEXT_LINES, 1), min(last + CONTEXT_LINES, len(lines)) + 1):
        if span.line + SPAN_LINES_SHOWN <= number < last:
            if number == span.line + SPAN_LINES_SHOWN:
                yield bar(frame, "...")
            continue
        inside = span.line <= number <= last
        yield from draw_line(
            frame, frame.finding.path, number, mark=(">", style) if inside and span.line < last else None
        )
        if inside and span.line == last:
            yield underline(frame, lines[number - 1], style)
    yield bar(frame)


def underline(frame: Frame, text: str, style: str) -> Text:
    """The carets below `text`, the only line of the span."""
    start, end = frame.finding.span.column - 1, frame.finding.span.end_column - 1
    carets = max(cell_len(printable(text[start:end])), 1)
    return bar(frame, " " * cell_len(printable(text[:start])) + "^" * carets, style)


def draw_line(frame: Frame, path: str, number: int, mark: tuple[str, str] | None = None) -> Iterator[Text]:
    """Line `number` of `path` after its number and `mark`, a character and its style; nothing for no such line."""
    lines = frame.lines_of(path)
    if 1 <= number <= len(lines):
        label = f"{number:>{len(frame.margin)}} |"
        room = frame.width - len(label) - 1
        code = printable(lines[number - 1]).rstrip()
        cropped = code if cell_len(code) <= room else set_cell_size(code, room - 3) + "..."
        line = Text.assemble((label, "blue"), mark or " ", cropped)
        line.rstrip()
        yield line


def bar(frame: Frame, text: str = "", style: str = "") -> Text:
    """A line of the frame that is none of the file, cut where the frame ends."""
    label = f"{frame.margin} | "
    line = Text.assemble((label if text else label.rstrip(), "blue"), (text[: frame.width - len(label)], style))
    line.rstrip()
    return line


def printable(text: str) -> str:
    """`text` with tabs of one width, and without what would steer a terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text.replace("\t", TAB))

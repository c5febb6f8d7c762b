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


def draw_frame(frame: Frame, style: str) -> Iterator[Text]:
    """The lines of the span with one around, the span underlined in `style`. Nothing where the file is unreadable."""
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
        yield from draw_line(frame, frame.finding.path, number)
        if span.line <= number <= last:
            text = lines[number - 1]
            start = span.column - 1 if number == span.line else len(text) - len(text.lstrip())
            end = span.end_column - 1 if number == span.end_line else len(text)
            indent = cell_len(printable(text[:start]))
            length = max(cell_len(printable(text[start:end])), 1)
            yield bar(frame, " " * indent + "^" * length, style)
    yield bar(frame)


def draw_line(frame: Frame, path: str, number: int) -> Iterator[Text]:
    """Line `number` of `path` after its number; nothing where there is no such line."""
    lines = frame.lines_of(path)
    if 1 <= number <= len(lines):
        label = f"{number:>{len(frame.margin)}} | "
        room = frame.width - len(label)
        code = printable(lines[number - 1]).rstrip()
        cropped = code if cell_len(code) <= room else set_cell_size(code, room - 3) + "..."
        yield Text.assemble((label, "blue"), cropped)


def bar(frame: Frame, text: str = "", style: str = "") -> Text:
    """A line of the frame that is none of the file, cut where the frame ends."""
    label = f"{frame.margin} | "
    line = Text.assemble((label if text else label.rstrip(), "blue"), (text[: frame.width - len(label)], style))
    line.rstrip()
    return line


def printable(text: str) -> str:
    """`text` with tabs of one width, and without what would steer a terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text.replace("\t", TAB))

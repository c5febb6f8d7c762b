"""A scan for a reader at a terminal: what, where, the line itself, how the value got there, and what to do."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from triton_doctor.finding import Severity
from triton_doctor.report.concise import plural, summarize, summarize_evidence, tell_evidence
from triton_doctor.report.frame import Frame, draw_frame, draw_line
from triton_doctor.rulebook import rule_name
from triton_doctor.terminal import escape_line, escape_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.finding import Finding, Place, Step
    from triton_doctor.report import View
    from triton_doctor.static.scan import Scan

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
NARROWEST = 40
LAUNCHES_SHOWN = 4
# Wrapping asks a console for nothing but its tab size; to make one costs more than to wrap.
MEASURE = Console(file=io.StringIO())


def render_full(scan: Scan, view: View) -> str:
    """Every finding as a block, a blank line after each, then the summary."""
    width = max(view.width, NARROWEST)
    lines = [line for finding in scan.findings for line in (*draw_finding(finding, view, width), Text())]
    lines += [*map(Text, summarize_evidence(scan)), Text(summarize(scan), "bold")]
    if not view.color:
        return "".join(f"{line.plain}\n" for line in lines)
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system="standard", no_color=False)
    console.print(Text("\n").join(lines), soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def draw_finding(finding: Finding, view: View, width: int) -> Iterator[Text]:
    """The lines of one block."""
    style = STYLES[finding.severity]
    frame = Frame(view.lines_of, finding, width)
    yield Text.assemble(
        (escape_line(f"{finding.path}:{finding.span.line}:{finding.span.column}"), "bold"),
        ": ",
        (f"{finding.code} {rule_name(finding.code)}", style),
        (f" ({finding.severity.label})", "dim"),
    )
    yield from hang("  ", finding.message, width)
    yield from draw_frame(frame, style)
    yield from draw_trail(finding.trail, frame)
    evidence = tell_evidence(finding)
    if evidence:
        yield from hang(f"{frame.margin} = runs: ", evidence, width)
    if finding.advice:
        yield from hang(f"{frame.margin} = help: ", finding.advice, width)
    yield from draw_launches(finding.facts.also, frame)


def draw_trail(trail: tuple[Step, ...], frame: Frame) -> Iterator[Text]:
    """A note for each step, and below it the line that it is about; a file is named where it begins.

    A line is not drawn again right below itself, nor the line of the finding, which stands above.
    """
    path, shown = frame.finding.path, None
    for step in trail:
        yield from hang(f"{frame.margin} = note: ", step.text, frame.width)
        if step.path != path:
            yield locate(frame, step.path, step.line)
        if (step.path, step.line) not in (shown, frame.place):
            yield from draw_line(frame, step.path, step.line)
        path, shown = step.path, (step.path, step.line)


def draw_launches(also: tuple[Place, ...], frame: Frame) -> Iterator[Text]:
    """Where else it is true, the first few of them."""
    if also:
        yield from hang(f"{frame.margin} = also: ", plural(len(also), "other place", "other places"), frame.width)
        yield from (locate(frame, place.path, place.line) for place in also[:LAUNCHES_SHOWN])
        if len(also) > LAUNCHES_SHOWN:
            yield from hang(f"{frame.margin}   ", f"and {len(also) - LAUNCHES_SHOWN} more", frame.width)


def locate(frame: Frame, path: str, line: int) -> Text:
    """A line that only says where."""
    return Text.assemble((f"{frame.margin}--> ", "blue"), escape_text(f"{path}:{line}"))


def hang(lead: str, text: str, width: int) -> Iterator[Text]:
    """`text` in lines of `width`, the first after `lead`, the others indented as far; what is `quoted` stands out."""
    body = Text(escape_line(text))
    body.highlight_regex(r"`[^`]+`", "bold")
    room = max(width - len(lead), NARROWEST // 2)
    wrapped = [body] if cell_len(body.plain) <= room else body.wrap(MEASURE, room)
    for number, line in enumerate(wrapped):
        line.rstrip()
        yield Text.assemble((lead if number == 0 else " " * len(lead), "cyan"), line)

"""A scan for a reader at a terminal: what, where, the line itself, how the value got there, and what to do."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.text import Text

from triton_doctor.finding import Severity
from triton_doctor.report.concise import plural, summarize
from triton_doctor.report.frame import Frame, draw_frame, draw_line
from triton_doctor.rulebook import rule_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.finding import Finding, Step
    from triton_doctor.report import View
    from triton_doctor.static.scan import Scan

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
NARROWEST = 40
LAUNCHES_SHOWN = 4


def render_full(scan: Scan, view: View) -> str:
    """Every finding as a block, a blank line after each, then the summary."""
    width = max(view.width, NARROWEST)
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=view.color,
        color_system="standard" if view.color else None,
        no_color=not view.color,
        legacy_windows=False,
    )
    for finding in scan.findings:
        console.print(Group(*draw_finding(finding, view, width)), Text(), soft_wrap=True)
    console.print(Text(summarize(scan), "bold"), soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def draw_finding(finding: Finding, view: View, width: int) -> Iterator[Text]:
    """The lines of one block."""
    style = STYLES[finding.severity]
    frame = Frame(view.lines_of, finding, width)
    yield Text.assemble(
        (f"{finding.path}:{finding.span.line}:{finding.span.column}", "bold"),
        ": ",
        (f"{finding.code} {rule_name(finding.code)}", style),
        (f" ({finding.severity.label})", "dim"),
    )
    yield from hang("  ", finding.message, width)
    yield from draw_frame(frame, style)
    yield from draw_trail(finding.trail, frame)
    if finding.advice:
        yield from hang(f"{frame.margin} = help: ", finding.advice, width)
    also = finding.facts.also
    if also:
        named = ", ".join(f"{place.path}:{place.line}" for place in also[:LAUNCHES_SHOWN])
        more = f" and {len(also) - LAUNCHES_SHOWN} more" if len(also) > LAUNCHES_SHOWN else ""
        yield from hang(
            f"{frame.margin} = also: ", f"{plural(len(also), 'other launch', 'other launches')}, {named}{more}", width
        )


def draw_trail(trail: tuple[Step, ...], frame: Frame) -> Iterator[Text]:
    """A note for each step, under the line that it is about; a line that stands already is not drawn again."""
    shown = (frame.finding.path, frame.finding.span.line)
    for step in trail:
        yield from hang(f"{frame.margin} = note: ", f"{step.path}:{step.line}: {step.text}", frame.width)
        if (step.path, step.line) != shown:
            yield from draw_line(frame, step.path, step.line)
            shown = (step.path, step.line)


def hang(lead: str, text: str, width: int) -> Iterator[Text]:
    """`text` in lines of `width`, the first after `lead`, the others indented as far; what is `quoted` stands out."""
    body = Text(text)
    body.highlight_regex(r"`[^`]+`", "bold")
    wrapped = body.wrap(Console(width=width), max(width - len(lead), NARROWEST // 2))
    for number, line in enumerate(wrapped):
        line.rstrip()
        yield Text(lead if number == 0 else " " * len(lead), "cyan" if number == 0 else "") + line

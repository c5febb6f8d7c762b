"""A scan for a reader at a terminal: what, where, the line itself, how the value got there, and what to do.

A long report begins with its worst causes in full; of the others it shows what and where. Infos are counted. One cause
in many kernels is one block, and the blocks of a kernel stay together. A cause is a rule, a severity, a parameter, a
message apart from the kernel's name, and a remedy. The most severe kernel comes first, then the one with most places.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from triton_doctor.finding import Location, Severity
from triton_doctor.phrases import plural
from triton_doctor.report import Show
from triton_doctor.report.concise import (
    count_rules,
    describe_counts,
    describe_evidence,
    describe_verdicts,
    summarize,
    summarize_evidence,
)
from triton_doctor.report.frame import NARROWEST, Frame, draw_frame, draw_line, hang
from triton_doctor.report.hint_wording import WAYS_TO_DECIDE, describe_hints, describe_question
from triton_doctor.rulebook import installed_home, rule_name
from triton_doctor.terminal import escape_line, escape_text, print_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.finding import Finding, Step
    from triton_doctor.report import View
    from triton_doctor.static.scan import Scan


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`finding`, and the `others` of the same cause, in the order of places.

    `followers` are of parameters that are computed from the one of `finding`: they add no variant of their own.
    """

    finding: Finding
    others: tuple[Finding, ...] = ()
    followers: tuple[Finding, ...] = ()

    @property
    def kernel(self) -> tuple[object, ...] | None:
        """Return what identifies the kernel of the first finding; None if it is about no kernel."""
        return kernel_of(self.finding)

    @property
    def size(self) -> int:
        """Return the number of findings that the block represents."""
        return 1 + len(self.others) + len(self.followers)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelBlocks:
    """The blocks that begin at one kernel, the most severe first; of no kernel, one block alone."""

    kernel: str | None
    place: Location | None
    blocks: tuple[Block, ...]

    @property
    def rank(self) -> tuple[Severity, int]:
        """Return the sort key: severity first, then the number of findings of the largest block."""
        return max((block.finding.severity, block.size) for block in self.blocks)


def kernel_of(finding: Finding) -> tuple[object, ...] | None:
    """Return what identifies the kernel of `finding`; None if it is about no kernel."""
    facts = finding.facts
    return None if facts.kernel is None else (facts.kernel_location, facts.kernel)


def group_findings(findings: Iterable[Finding]) -> tuple[KernelBlocks, ...]:
    """Group `findings` into blocks of one cause, and those by kernel; the worst kernel first."""
    by_cause: defaultdict[object, list[Finding]] = defaultdict(list)
    followers: defaultdict[object, list[Finding]] = defaultdict(list)
    in_order = sorted(findings, key=lambda finding: finding.order)
    leading = {
        (kernel_of(finding), finding.facts.parameter): finding for finding in in_order if not finding.facts.follows
    }
    for finding in in_order:
        followed = (leading.get((kernel_of(finding), name)) for name in finding.facts.follows)
        lead = next((leader for leader in followed if leader is not None and leader.severity >= finding.severity), None)
        if lead is None or finding.evidence is not None:
            by_cause[cause(finding)].append(finding)
        else:
            followers[cause(lead)].append(finding)
    begun: defaultdict[object, list[Block]] = defaultdict(list)
    for key, found in by_cause.items():
        first, *others = found
        block = Block(finding=first, others=tuple(others), followers=tuple(followers[key]))
        begun[kernel_of(first) or first].append(block)
    grouped = [
        KernelBlocks(
            kernel=blocks[0].finding.facts.kernel,
            place=blocks[0].finding.facts.kernel_location,
            blocks=tuple(sorted(blocks, key=lambda block: (-block.finding.severity, block.finding.order))),
        )
        for blocks in begun.values()
    ]
    return tuple(sorted(grouped, key=lambda kernel: ([-rank for rank in kernel.rank], kernel.blocks[0].finding.order)))


def cause(finding: Finding) -> object:
    """Return a key that is equal for findings with the same remedy and the same message, apart from the kernel.

    A finding with evidence is a cause of its own, as recordings speak of one kernel only.
    """
    facts = finding.facts
    if finding.evidence is not None:
        return finding
    advice = finding.advice and _of_any_kernel(finding.advice, facts.kernel)
    what = (_of_any_kernel(finding.message, facts.kernel), advice, facts.parameter, facts.use)
    return (finding.code, finding.severity, facts.variability, what)


def _of_any_kernel(text: str, kernel: str | None) -> str:
    return text if kernel is None else text.replace(f"`{kernel}`", "`...`")


STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
FILES_SHOWN = 8
# A report of no more causes than LONG is drawn in full; of a longer one, the first DETAILED.
LONG, DETAILED = 15, 10
# Counts by rule say nothing that a reader does not see, where there are no more findings than this.
COUNTED = 3


def render_full(scan: Scan, view: View) -> str:
    """Render the causes by kernel, the worst first, then what is left out, counts by rule and the summary."""
    width = max(view.width, NARROWEST)
    return print_lines(list(draw_scan(scan, view, width)), color=view.color, width=width)


def draw_scan(scan: Scan, view: View, width: int) -> Iterator[Text]:
    """Yield the lines of the whole report, wrapped to `width`."""
    lists_infos = not view.show.isdisjoint({Show.INFO, Show.ALL})
    listed = [finding for finding in scan.findings if lists_infos or finding.severity > Severity.INFO]
    kernels = group_findings(listed)
    count = sum(len(kernel.blocks) for kernel in kernels)
    verdicts = [Text(line, "bold" if number == 0 else "") for number, line in enumerate(describe_verdicts(scan))]
    yield from (*verdicts, Text()) if verdicts else ()
    detailed = count if Show.ALL in view.show or count <= LONG else DETAILED
    drawn = 0
    for kernel in kernels:
        yield from draw_kernel(kernel, view, width, room=detailed - drawn)
        drawn += len(kernel.blocks)
    if count > detailed:
        yield Text()
        left = plural(count - detailed, "cause is", "causes are")
        yield from hang("", f"{left} shown without code: `--show all` shows it, or name a file", width)
    if Show.UNDECIDED in view.show and scan.undecided:
        yield from draw_undecided(scan, width)
    yield from draw_sums(scan, listed, view, width)


def draw_undecided(scan: Scan, width: int) -> Iterator[Text]:
    """Yield a question for each constexpr that is undecided, and the ways to decide them."""
    yield Text("undecided constexprs:", "bold")
    for constexpr in scan.undecided:
        question = describe_question(f"`{constexpr.parameter}` of `{constexpr.kernel}`", constexpr.hints)
        yield from hang("  ", f"{constexpr.location.path}:{constexpr.location.line}: {question}", width)
    yield from hang("  ", WAYS_TO_DECIDE, width)
    yield Text()


def draw_sums(scan: Scan, listed: list[Finding], view: View, width: int) -> Iterator[Text]:
    """Yield what is not listed, counts by rule, and the summary."""
    infos = [finding for finding in scan.findings if finding.severity is Severity.INFO]
    if len(listed) > COUNTED:
        counts = count_rules(listed)
        for number, code in counts:
            yield Text.assemble(f"{number:>{len(f'{counts[0][0]:,}')},}  ", _linked(code, view), f" {rule_name(code)}")
        yield from hang("", f"`triton-doctor rule {counts[0][1]}` explains a rule", width)
    if infos and not any(finding.severity is Severity.INFO for finding in listed):
        are = plural(len(infos), "note is", "notes are")
        yield from hang("", f"{are} not listed ({describe_counts(infos)}): `--show info` lists them", width)
    for line in (*summarize_evidence(scan), summarize(scan)):
        yield Text(line, "bold")


def draw_kernel(kernel: KernelBlocks, view: View, width: int, *, room: int) -> Iterator[Text]:
    """Yield the blocks of one kernel, the first `room` of them in full; its name is above them if there are several."""
    if len(kernel.blocks) > 1 and room > 0 and kernel.place is not None and kernel.kernel is not None:
        where = f"{kernel.place.path}:{kernel.place.line}"
        yield from hang("", f"`{kernel.kernel}` ({where}): {len(kernel.blocks)} causes", width)
    for number, block in enumerate(kernel.blocks):
        if number < room:
            yield from draw_block(block, view, width)
            yield Text()
        else:
            yield from draw_short(block, view, width)


def draw_block(block: Block, view: View, width: int) -> Iterator[Text]:
    """Yield the lines of one cause in full."""
    finding = block.finding
    frame = Frame(view.lines_of, finding, width)
    yield _heading(finding, view)
    yield from hang("  ", finding.message, width)
    yield from draw_frame(frame, STYLES[finding.severity])
    yield from draw_trail(finding.trail, frame)
    if view.why and finding.facts.variability is not None:
        for line in describe_hints(finding.facts.hints):
            yield from hang(f"{frame.margin} = why: ", line, width)
    if evidence := describe_evidence(finding):
        yield from hang(f"{frame.margin} = runs: ", evidence, width)
    if finding.advice:
        yield from hang(f"{frame.margin} = help: ", finding.advice, width)
    yield from draw_places(block, frame)
    for line in describe_followers(block):
        yield from hang(f"{frame.margin} = also: ", line, width)


def draw_short(block: Block, view: View, width: int) -> Iterator[Text]:
    """Yield the place and message of a cause without code, and how many other places have it."""
    yield _heading(block.finding, view)
    more = describe_others(block)
    yield from hang("  ", block.finding.message + (f" (also: {more})" if more else ""), width)
    if view.why and block.finding.facts.variability is not None:
        for line in describe_hints(block.finding.facts.hints):
            yield from hang("  why: ", line, width)
    if evidence := describe_evidence(block.finding):
        yield from hang("  runs: ", evidence, width)
    for line in describe_followers(block):
        yield from hang("  also: ", line, width)


def describe_followers(block: Block) -> Iterator[str]:
    """Yield a line for each parameter that is computed from the one of the block and needs the same remedy."""
    for follower in block.followers:
        names = " and ".join(f"`{name}`" for name in follower.facts.follows)
        kernel = f" of `{follower.facts.kernel}`" if follower.facts.kernel != block.finding.facts.kernel else ""
        place = f"{follower.path}:{follower.span.line}"
        yield f"`{follower.facts.parameter}`{kernel} ({place}) follows from {names}: {follower.advice}"


def _heading(finding: Finding, view: View) -> Text:
    return Text.assemble(
        (escape_line(f"{finding.path}:{finding.span.line}:{finding.span.column}"), "bold"),
        ": ",
        _linked(finding.code, view, STYLES[finding.severity]),
        (f" {rule_name(finding.code)}", STYLES[finding.severity]),
        (f" ({finding.severity.label})", "dim"),
    )


def _linked(code: str, view: View, style: str = "") -> tuple[str, Style | str]:
    """Return `code` with its style, as a link to its page if the terminal supports links."""
    link = installed_home().page_uri(code) if view.links else None
    return code, Style.parse(style) + Style(link=link) if link else style


def draw_trail(trail: tuple[Step, ...], frame: Frame) -> Iterator[Text]:
    """Yield a note for each step and the source line that it is about; the file is named when it changes.

    A line is not repeated directly below itself, nor is the finding's own line, which the frame shows.
    """
    path, shown = frame.finding.path, None
    for step in trail:
        yield from hang(f"{frame.margin} = note: ", step.text, frame.width)
        if step.path != path:
            yield locate(frame, step.path, step.line)
        if (step.path, step.line) not in (shown, frame.place):
            yield from draw_line(frame, step.path, step.line)
        path, shown = step.path, (step.path, step.line)


def describe_others(block: Block) -> str:
    """Format how many other kernels and launches have the cause: `30 kernels, 2 launches`; empty if none have."""
    own = block.kernel
    kernels = {kernel_of(other) for other in block.others} - {own, None}
    places = set(_places(block))
    launches = len(places) - len(kernels)
    what = ("launch", "launches") if own is not None else ("place", "places")
    parts = [plural(len(kernels), "kernel")] if kernels else []
    return ", ".join([*parts, plural(launches, *what)] if launches > 0 else parts)


def _places(block: Block) -> dict[Location, str | None]:
    """Return the other places of the cause, each with its kernel if that is not the one of the block."""
    own = block.finding.facts.kernel
    found: dict[Location, str | None] = {}
    for other in block.others:
        found[Location(other.path, other.span.line)] = other.facts.kernel if other.facts.kernel != own else None
    for finding in (block.finding, *block.others):
        for place in finding.facts.also:
            found.setdefault(place, finding.facts.kernel if finding.facts.kernel != own else None)
    found.pop(Location(block.finding.path, block.finding.span.line), None)
    return found


def draw_places(block: Block, frame: Frame) -> Iterator[Text]:
    """Yield the other places of the cause, by file: the lines, and the kernels where they differ."""
    more = describe_others(block)
    if not more:
        return
    yield from hang(f"{frame.margin} = also: ", more, frame.width)
    by_file: defaultdict[str, list[str]] = defaultdict(list)
    for place, kernel in sorted(_places(block).items(), key=lambda pair: pair[0]):
        by_file[place.path].append(f"{place.line}" + (f" `{kernel}`" if kernel is not None else ""))
    for path, listed in list(by_file.items())[:FILES_SHOWN]:
        one_line = f"{path}:{', '.join(listed)}"
        if cell_len(f"{frame.margin}--> {one_line}") <= frame.width:
            yield from hang(f"{frame.margin}--> ", one_line, frame.width)
        else:
            # A path is never wrapped: a terminal could not open it.
            yield Text.assemble((f"{frame.margin}--> ", "blue"), escape_text(path))
            yield from hang(f"{frame.margin}    ", ", ".join(listed), frame.width)
    left = list(by_file.values())[FILES_SHOWN:]
    if left:
        files = plural(len(left), "file")
        yield from hang(f"{frame.margin}    ", f"and {sum(map(len, left)):,} more in {files}", frame.width)


def locate(frame: Frame, path: str, line: int) -> Text:
    """Draw a line that only names a place."""
    return Text.assemble((f"{frame.margin}--> ", "blue"), escape_text(f"{path}:{line}"))

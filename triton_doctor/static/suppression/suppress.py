"""Applies directives to findings, reports those that silence nothing, and leaves the files that the user named.

A kernel with the same problem at three launches is one finding, at the first launch. A user who names the third file
wants to see it there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Location, Severity, Span, split_cell
from triton_doctor.plan import DropDirective, Plan, Safety
from triton_doctor.static.sources.directives import DirectiveKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from triton_doctor.static.sources.directives import Directive

UNUSED = "TRD901"
AUTOTUNE_KEY = "TRD301"
END_OF_FILE = 1 << 60


@dataclass(frozen=True, slots=True)
class Silence:
    """A code of the directive at `position` among those of its file, and the lines that it silences."""

    position: int
    code: str
    first: int
    last: int


class Lines:
    """Ranges of lines by code, with a binary search for overlaps."""

    def __init__(self, stretches: Iterable[tuple[str, int, int]]) -> None:
        """Each of `stretches` is a code, a first line and a last line."""
        self._firsts: dict[str, list[int]] = {}
        self._latest: dict[str, list[int]] = {}
        for code, first, last in sorted(stretches):
            latest = self._latest.setdefault(code, [])
            latest.append(max(last, latest[-1]) if latest else last)
            self._firsts.setdefault(code, []).append(first)

    def meet(self, code: str, first: int, last: int) -> bool:
        """Return whether a range of `code` overlaps the lines `first` to `last`."""
        before = bisect_right(self._firsts.get(code, ()), last)
        return before > 0 and self._latest[code][before - 1] >= first

    def meet_any(self, code: str, first: int, last: int) -> bool:
        """Return the same for `code` and all of its prefixes."""
        return any(self.meet(code[:end], first, last) for end in range(1, len(code) + 1))


def suppress(
    findings: Sequence[Finding],
    directives: Mapping[str, Sequence[Directive]],
    *,
    ran: frozenset[str],
    known: frozenset[str],
) -> Iterator[Finding]:
    """Yield the `findings` that stay, then a TRD901 for each code of a directive that silences none.

    `directives` are by path, as findings spell it. `ran` are the codes of the rules that ran: a directive for another
    is not reported as unused. `known` are all codes with a page.
    """
    silences = {path: tuple(silences_of(found)) for path, found in directives.items()}
    silent = {
        path: Lines((silence.code, silence.first, silence.last) for silence in found)
        for path, found in silences.items()
    }
    for finding in findings:
        if not is_silent(finding, silent):
            yield finding
    if UNUSED not in ran or not directives:
        return

    met = met_by_path(findings)
    for path, found in directives.items():
        lines = met.get(path, Lines(()))
        working = {
            (silence.position, silence.code)
            for silence in silences[path]
            if lines.meet(silence.code, silence.first, silence.last)
        }
        for directive, message, advice, code in complaints(found, working, ran=ran, known=known):
            complaint = Finding(
                path=path,
                span=directive.span,
                code=UNUSED,
                severity=Severity.WARNING,
                message=message,
                advice=advice,
                fix=plan_removal(path, directive.span, code) if code is not None else None,
            )
            if not is_silent(complaint, silent):
                yield complaint


def is_silent(finding: Finding, silent: Mapping[str, Lines]) -> bool:
    """Return whether `finding` is silenced where it is, in its launch or at its parameter."""
    return any(path in silent and silent[path].meet_any(finding.code, *lines) for path, *lines in stretches_of(finding))


def met_by_path(findings: Iterable[Finding]) -> dict[str, Lines]:
    """Return the ranges of `findings` by path, for each prefix of their codes: directives that overlap one are used."""
    met = defaultdict[str, list[tuple[str, int, int]]](list)
    for finding in findings:
        # A comment about TRD301 is in use if the tuning is part of a TRD201.
        codes = (finding.code, AUTOTUNE_KEY) if finding.facts.autotune_keys else (finding.code,)
        for path, first, last in stretches_of(finding):
            met[path] += ((code[:end], first, last) for code in codes for end in range(1, len(code) + 1))
    return {path: Lines(stretches) for path, stretches in met.items()}


def stretches_of(finding: Finding) -> Iterator[tuple[str, int, int]]:
    """Yield path, first and last line of each place where a comment silences `finding`."""
    for span in (finding.span, finding.facts.launch):
        if span is not None:
            yield finding.path, span.line, span.end_line
    location = finding.facts.parameter_location
    if location:
        yield location.path, location.line, location.line


def silences_of(directives: Sequence[Directive]) -> Iterator[Silence]:
    """Yield what `directives`, those of one file in order, silence."""
    ends: dict[str, int] = {}  # the next line at which each code is enabled
    for position, directive in reversed(list(enumerate(directives))):
        line = directive.span.line
        for code in directive.codes:
            match directive.word:
                case DirectiveKind.IGNORE:
                    yield Silence(position, code, line, line)
                case DirectiveKind.IGNORE_FILE:
                    yield Silence(position, code, 1, END_OF_FILE)
                case DirectiveKind.DISABLE:
                    yield Silence(position, code, line, ends.get(code, END_OF_FILE))
                case DirectiveKind.ENABLE:
                    ends[code] = line


def complaints(
    directives: Sequence[Directive], working: set[tuple[int, str]], *, ran: frozenset[str], known: frozenset[str]
) -> Iterator[tuple[Directive, str, str, str | None]]:
    """Yield message, advice and removable code for each problem with one of `directives`, those of a file.

    `working` are the directives in use: (position, code).
    """
    disabled = set[str]()
    for position, directive in enumerate(directives):
        if directive.word is None:
            words = ", ".join(f"`{word.value}[...]`" for word in DirectiveKind)
            yield directive, f"`{directive.text}` is not understood", f"write one of {words}", None
            continue
        word = directive.word.value
        if not directive.codes:
            message = f"`{word}` names no rule, so it silences nothing"
            yield directive, message, f"write `{word}[TRD201]`", None
        for code in dict.fromkeys(directive.codes):
            meant = {rule for rule in known if rule.startswith(code)}
            if not meant:
                message = f"`{word}[{code}]` names a rule that does not exist"
                yield directive, message, "`triton-doctor rule` lists them", None
            elif directive.word is DirectiveKind.ENABLE:
                if code not in disabled:
                    yield directive, f"`enable[{code}]` ends no `disable[{code}]`", "remove it", code
            elif meant <= ran and meant != {UNUSED} and (position, code) not in working:
                yield directive, f"`{word}[{code}]` silences nothing", "remove it", code
        if directive.word is DirectiveKind.DISABLE:
            disabled.update(directive.codes)


def plan_removal(path: str, span: Span, code: str) -> Plan | None:
    """Return a safe plan for Python files; None for others."""
    if not path.endswith(".py"):
        return None
    return Plan(
        safety=Safety.SAFE,
        title=f"delete `{code}` from the comment",
        changes=(DropDirective(path, span, code),),
    )


def concerns(finding: Finding, report_paths: frozenset[str] | None) -> bool:
    """Return whether `finding` is in a file of `report_paths` (None for all files), or also holds in one."""
    return (
        report_paths is None
        or finding.path in report_paths
        or any(location.path in report_paths for location in finding.facts.also)
    )


def move_to_reported(
    findings: Iterable[Finding], report_paths: frozenset[str] | None, source_of: Callable[[str], bytes | None]
) -> Iterator[Finding]:
    """Yield `findings`, each in a file of `report_paths`: its own place, or else the first other place where it holds.

    There its span is the line, and its original place becomes one of the other places. `source_of` gives the bytes of a
    path.
    """
    for finding in findings:
        if report_paths is None or split_cell(finding.path)[0] in report_paths:
            yield finding
            continue
        location = next((place for place in finding.facts.also if split_cell(place.path)[0] in report_paths), None)
        if location is not None:
            also = {*finding.facts.also, Location(finding.path, finding.span.line)} - {location}
            yield replace(
                finding,
                path=location.path,
                span=_line_span(source_of(location.path) or b"", location.line),
                facts=replace(finding.facts, launch=None, also=tuple(sorted(also))),
                home=(finding.path, finding.span),
            )


def _line_span(source: bytes, line: int) -> Span:
    """Return the span of the line without surrounding blanks."""
    lines = source.decode("utf-8", "replace").splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return Span(line, len(text) - len(text.lstrip()) + 1, line, max(len(text.rstrip()), 1) + 1)

"""Findings and directives to the findings that stay, and a complaint for each directive that silences nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.directives import Directive, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

UNUSED = "TRD901"
AUTOTUNE_KEY = "TRD301"
END_OF_FILE = 1 << 60


@dataclass(frozen=True, slots=True)
class Silence:
    """One code of a directive, and the lines of its file where findings of that code stay silent."""

    directive: Directive
    code: str
    first: int
    last: int


def suppress(
    findings: Sequence[Finding],
    directives: Mapping[str, Sequence[Directive]],
    *,
    ran: frozenset[str],
    known: frozenset[str],
) -> Iterator[Finding]:
    """The `findings` that stay, then a TRD901 for each code of a directive that silences none.

    `directives` is by path, as findings spell it. `ran` are the codes that were looked for: a directive for another
    is not called unused. `known` are all codes that have a page.
    """
    silences = {path: tuple(silences_of(found)) for path, found in directives.items()}
    used = set[tuple[str, Silence]]()
    for finding in findings:
        silencers = set(silencers_of(finding, silences))
        used |= silencers
        if finding.facts.autotune_keys:
            # A comment about TRD301 is in use where the tuning is part of a finding about the constexpr.
            used |= set(silencers_of(replace(finding, code=AUTOTUNE_KEY), silences))
        if not silencers:
            yield finding
    if UNUSED not in ran or not directives:
        return
    from triton_doctor.static.plans.unused_suppression import plan as plan_removal  # with all other plans

    for path, found in directives.items():
        working = {(silence.directive, silence.code) for silence in silences[path] if (path, silence) in used}
        for directive in found:
            for message, advice, code in complaints(directive, found, working, ran=ran, known=known):
                complaint = Finding(
                    path=path,
                    span=directive.span,
                    code=UNUSED,
                    severity=Severity.WARNING,
                    message=message,
                    advice=advice,
                    fix=plan_removal(path, directive.span, code) if code is not None else None,
                )
                if not any(silencers_of(complaint, silences)):
                    yield complaint


def silencers_of(finding: Finding, silences: Mapping[str, Sequence[Silence]]) -> Iterator[tuple[str, Silence]]:
    """The silences, with their paths, that cover `finding` where it stands, in its launch or at its parameter."""
    spans = filter(None, [finding.span, finding.facts.launch])
    stretches = [(finding.path, span.line, span.end_line) for span in spans]
    if finding.facts.parameter_place:
        place = finding.facts.parameter_place
        stretches.append((place.path, place.line, place.line))
    for path, first, last in stretches:
        for silence in silences.get(path, ()):
            if finding.code.startswith(silence.code) and silence.first <= last and first <= silence.last:
                yield path, silence


def silences_of(directives: Sequence[Directive]) -> Iterator[Silence]:
    """What `directives`, those of one file in order, silence."""
    for at, directive in enumerate(directives):
        line = directive.span.line
        for code in directive.codes:
            match directive.word:
                case Word.IGNORE:
                    yield Silence(directive, code, line, line)
                case Word.IGNORE_FILE:
                    yield Silence(directive, code, 1, END_OF_FILE)
                case Word.DISABLE:
                    ends = (later.span.line for later in directives[at + 1 :] if is_about(later, Word.ENABLE, code))
                    yield Silence(directive, code, line, next(ends, END_OF_FILE))


def is_about(directive: Directive, word: Word, code: str) -> bool:
    """Whether `directive` says `word` of `code`."""
    return directive.word is word and code in directive.codes


def complaints(
    directive: Directive,
    others: Sequence[Directive],
    working: set[tuple[Directive, str]],
    *,
    ran: frozenset[str],
    known: frozenset[str],
) -> Iterator[tuple[str, str, str | None]]:
    """Message, advice and the code that may go, for each thing wrong with `directive`; codes in `working` silence."""
    if directive.word is None:
        words = ", ".join(f"`{word.value}[...]`" for word in Word)
        yield f"`{directive.text}` is not understood", f"write one of {words}", None
        return
    word = directive.word.value
    if not directive.codes:
        yield f"`{word}` names no rule, so it silences nothing", f"write `{word}[TRD201]`", None
    for code in directive.codes:
        meant = {rule for rule in known if rule.startswith(code)}
        if not meant:
            yield f"`{word}[{code}]` names a rule that does not exist", "`triton-doctor rules` lists them", None
        elif directive.word is Word.ENABLE:
            before = others[: others.index(directive)]
            if not any(is_about(earlier, Word.DISABLE, code) for earlier in before):
                yield f"`enable[{code}]` ends no `disable[{code}]`", "remove it", code
        elif meant <= ran and meant != {UNUSED} and (directive, code) not in working:
            yield f"`{word}[{code}]` silences nothing", "remove it", code

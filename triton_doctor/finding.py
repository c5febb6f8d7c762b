"""What the doctor says: a finding, where it is, and how it came about."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, NamedTuple

_CELL = re.compile(r"(.*\.ipynb):cell ([0-9]{1,9})", re.DOTALL)

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.plan import Plan


class Severity(IntEnum):
    """How much a finding matters; ordered, so that `--fail-on` can compare."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        """Return the word used in reports and settings: `warning`."""
        return self.name.lower()


class Span(NamedTuple):
    """A stretch of a file: lines and columns from 1, columns in characters, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A line of a file. `path` is spelled as in `Finding.path`."""

    path: str
    line: int


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """One step of a value on its way, from its source to where the finding stands."""

    path: str
    line: int
    text: str

    def relocate(self, show: Callable[[Location], Location]) -> Step:
        """Return the step at the place that `show` maps its place to."""
        location = show(Location(self.path, self.line))
        return Step(location.path, location.line, self.text)


@dataclass(frozen=True, slots=True)
class HintNote:
    """A hint about how often a value changes: `toward` is `data` or `model`, `location` the line that shows it."""

    toward: str
    name: str
    weight: int
    reason: str
    location: Location | None


class Undecided(NamedTuple):
    """A constexpr that no launch in sight decides: `location` is a launch, `hints` those that come nearest."""

    kernel: str
    kernel_location: Location
    parameter: str
    location: Location
    hints: tuple[HintNote, ...]

    def relocate(self, show: Callable[[Location], Location]) -> Undecided:
        """Return a copy with each place mapped by `show`."""
        return self._replace(
            kernel_location=show(self.kernel_location),
            location=show(self.location),
            hints=tuple(
                replace(hint, location=show(hint.location)) if hint.location is not None else hint
                for hint in self.hints
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known beside the message; None where it does not apply. Words as in the JSON contract.

    `also` are the other launches that it is true of. An ignore comment counts at the finding, anywhere in `launch`, the
    call in the same file that the finding stands in, and at `parameter_location`. `word` is what of the text at the
    finding is meant: an option, a code. `autotune_keys` are the names in the kernel's autotune key that change with
    each call, where the parameter is one of them. `follows` are the parameters of the kernel that this one is computed
    from, where it adds no variant of its own. `hints` are those that decided `variability`, none where the value
    was followed to its origin.
    """

    kernel: str | None = None
    kernel_location: Location | None = None
    parameter: str | None = None
    parameter_location: Location | None = None
    launch: Span | None = None
    variability: str | None = None
    bound: int | None = None
    use: str | None = None
    also: tuple[Location, ...] = ()
    word: str | None = None
    autotune_keys: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    hints: tuple[HintNote, ...] = ()


def split_cell(path: str) -> tuple[str, int | None]:
    """Split `path` into the file and the notebook cell:

    `a.ipynb` and 3 for `a.ipynb:cell 3`; None if it has no cell.
    """
    cell = _CELL.fullmatch(path)
    return (cell[1], int(cell[2])) if cell is not None else (path, None)


class Verdict(StrEnum):
    """What recorded runs say of a prediction; ADDED where there was none, and the runs alone show it."""

    CONFIRMED = "confirmed"
    CLEARED = "cleared"
    NOT_EXERCISED = "not_exercised"
    ADDED = "added"

    @property
    def label(self) -> str:
        """Return the verdict in words: `not exercised`."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What recorded runs say of a finding. `text` is the reason: `37 values seen, 37 compiles, 1.9 s`.

    `values` are the most that one process saw; `compiled`, `from_disk` and `rounds` of tuning are those that came with
    another value, in all processes, and `waited_us` what they took. None where it is not about values, or launches.
    `dry` is whether all of the runs were dry, and `explored` whether the tool made up their arguments.
    """

    verdict: Verdict
    text: str
    values: int | None = None
    launches: int | None = None
    compiled: int = 0
    from_disk: int = 0
    rounds: int = 0
    waited_us: int = 0
    dry: bool = False
    explored: bool = False

    @property
    def label(self) -> str:
        """Return the verdict and its kind: `confirmed`, `not exercised enough by a dry run`, `confirmed by sweep`."""
        enough = " enough" if self.verdict is Verdict.NOT_EXERCISED and self.launches else ""
        return f"{self.verdict.label}{enough}{' by sweep' if self.explored else ' by a dry run' if self.dry else ''}"

    def __str__(self) -> str:
        """Return verdict and reason: `confirmed: 37 values seen`, `confirmed by sweep (follows axis 1 of `q`)`."""
        return f"{self.label} ({self.text})" if self.explored else f"{self.label}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that the doctor found.

    `path` is posix, relative to the working directory where it lies below it; of a notebook it names the cell too, and
    lines are those of the cell: `split_cell`. `message` is one line in lower case
    without a full stop; `advice` says what to do, likewise. `trail` runs from the value's source to `span`. `fix` is
    how the source could be changed, where that is known. `evidence` is None where no recording was asked, or none can
    tell. `home` is the path and the span of the finding in a report on all files, where that is another place.
    """

    path: str
    span: Span
    code: str
    severity: Severity
    message: str
    advice: str | None = None
    facts: Facts = field(default_factory=Facts)
    trail: tuple[Step, ...] = ()
    fix: Plan | None = None
    evidence: Evidence | None = None
    home: tuple[str, Span] | None = None

    def relocate(self, show: Callable[[Location], Location]) -> Finding:
        """Return a copy with each place mapped by `show`; `fix` is unchanged."""

        def show_any(location: Location | None) -> Location | None:
            return show(location) if location is not None else None

        def show_span(span: Span) -> Span:
            first, last = (show(Location(self.path, line)).line for line in (span.line, span.end_line))
            return span._replace(line=first, end_line=last)

        facts = self.facts
        return replace(
            self,
            path=show(Location(self.path, self.span.line)).path,
            span=show_span(self.span),
            facts=replace(
                facts,
                launch=show_span(facts.launch) if facts.launch is not None else None,
                kernel_location=show_any(facts.kernel_location),
                parameter_location=show_any(facts.parameter_location),
                also=tuple(map(show, facts.also)),
                hints=tuple(replace(hint, location=show_any(hint.location)) for hint in facts.hints),
            ),
            trail=tuple(step.relocate(show) for step in self.trail),
        )

    @property
    def original(self) -> Finding:
        """Return the finding with the place that it has in a report on all files."""
        return self if self.home is None else replace(self, path=self.home[0], span=self.home[1], home=None)

    @property
    def fixable(self) -> str:
        """Return `safe`, `unsafe` or `no`."""
        return self.fix.safety.value if self.fix is not None else "no"

    @property
    def order(self) -> tuple[str, Span, str, str]:
        """Return the key by which reports sort findings, independent of the order in which files were read."""
        return (self.path, self.span, self.code, self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFinding:
    """One thing that is wrong. `evidence` is what was seen and where; `command` can be typed as it is."""

    code: str
    severity: Severity
    message: str
    evidence: str
    remedy: str
    command: str | None = None

    @property
    def order(self) -> tuple[int, str, str]:
        """Return the sort key: the most severe first."""
        return (-self.severity, self.code, self.message)

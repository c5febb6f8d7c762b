"""A scan to text: one file a form."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.plan import Replacement
    from triton_doctor.static.scan import Scan


class Form(StrEnum):
    """The forms of `check --output-format`."""

    FULL = "full"
    CONCISE = "concise"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


class Show(StrEnum):
    """The words of `check --show`: what the form `full` leaves out of a long report."""

    INFO = "info"
    UNDECIDED = "undecided"
    UNRESOLVED = "unresolved"
    ALL = "all"


class MachineForm(StrEnum):
    """The forms of `env --output-format`."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a person will see it. `lines_of` gives the lines of a path as findings spell it, none where unreadable.

    `replaced` gives what the fix of a finding replaces; only SARIF asks. `show` is what the form `full` draws that it
    would leave out, `why` that it lists the hints that decided. `links` says that the terminal follows hyperlinks.
    """

    lines_of: Callable[[str], Sequence[str]]
    color: bool
    width: int
    show: frozenset[Show] = frozenset()
    why: bool = False
    links: bool = False
    replaced: Callable[[Finding], Sequence[Replacement]] = field(default=lambda finding: ())


def render(scan: Scan, form: Form, view: View) -> str:
    """Render `scan` as text of `form`; it ends with a line end unless it is empty."""
    match form:
        case Form.FULL:
            from triton_doctor.report.full import render_full

            return render_full(scan, view)
        case Form.CONCISE:
            from triton_doctor.report.concise import render_concise

            return render_concise(scan)
        case Form.JSON:
            from triton_doctor.report.json import render_json

            return render_json(scan)
        case Form.GITHUB:
            from triton_doctor.report.github import render_github

            return render_github(scan)
        case Form.SARIF:
            from triton_doctor.report.sarif import render_sarif

            return render_sarif(scan, view.replaced)

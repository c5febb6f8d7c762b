"""The forms of reports, and a scan to text: one file a form."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.plan import Replacement
    from triton_doctor.static.scan import Scan


# A trace that Perfetto opens is JSON as well, and is named x.trace.json or x.trace.
FORMS = {".json": "json", ".sarif": "sarif", ".md": "markdown", ".html": "html", ".trace": "trace"}

Chosen = TypeVar("Chosen", bound=StrEnum)


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


def choose_form(forms: type[Chosen], wanted: Chosen | None, file: Path | None) -> Chosen:
    """Return `wanted`, else the form that the suffix of `file` names, else the first of `forms`.

    Raises DoctorError for a suffix that names the form of another report.
    """
    default, *others = forms
    if wanted is not None:
        return wanted
    word = None if file is None else "trace" if ".trace" in file.suffixes else FORMS.get(file.suffix)
    if word is None:
        return default
    named = {form.value: form for form in others}
    if word not in named:
        known = [suffix for suffix, name in FORMS.items() if name in named]
        raise DoctorError(f"-o {file}: this report has no form {word}", hint=f"use .txt, {', '.join(known)}")
    return named[word]

"""The suffix of a file to the form of the report that is written there."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from pathlib import Path

# A trace that Perfetto opens is JSON as well, and is named x.trace.json or x.trace.
FORMS = {".json": "json", ".sarif": "sarif", ".md": "markdown", ".html": "html", ".trace": "trace"}

Chosen = TypeVar("Chosen", bound=StrEnum)


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

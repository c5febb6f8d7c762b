"""The account of a run to text: one file a form."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from triton_doctor.runtime.account import Account


class RunForm(StrEnum):
    """The forms of `report --output-format`."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class SortOrder(StrEnum):
    """By what the kernels of a report are sorted; most first."""

    TIME = "time"
    COMPILED = "compiled"
    LAUNCHES = "launches"
    NAME = "name"


def render_account(account: Account, form: RunForm, *, cwd: Path, color: bool, width: int | None = None) -> str:
    """`account` as text of `form`, ending with a line end. Paths below `cwd` are shown from there.

    Text is wrapped to `width`; None wraps nothing.
    """
    match form:
        case RunForm.TEXT:
            from triton_doctor.report.recording.text import render_text

            return render_text(account, cwd=cwd, color=color, width=width)
        case RunForm.JSON:
            from triton_doctor.report.recording.json import render_json

            return render_json(account)
        case RunForm.MARKDOWN:
            from triton_doctor.report.recording.markdown import render_markdown

            return render_markdown(account, cwd=cwd)

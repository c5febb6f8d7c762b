"""The account of a run to text: one file a form."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from triton_doctor.report.recording.unserved import UnservedCompile
    from triton_doctor.runtime.account import Account
    from triton_doctor.runtime.recording import Recording


class RunForm(StrEnum):
    """The forms of `report --output-format`."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    TRACE = "trace"


def render_account(
    account: Account,
    form: RunForm,
    *,
    recordings: Sequence[Recording],
    cwd: Path,
    color: bool,
    width: int | None = None,
    unserved: Sequence[UnservedCompile] = (),
) -> str:
    """Render `account`, which was computed from `recordings`, as text of `form` that ends with a line end.

    Paths below `cwd` are shown relative to it. Text is wrapped to `width` unless it is None. `unserved` are compiles
    that a pack should have saved, shown in text and JSON.
    """
    match form:
        case RunForm.TEXT:
            from triton_doctor.report.recording.text import render_text

            return render_text(account, cwd=cwd, color=color, width=width, unserved=unserved)
        case RunForm.JSON:
            from triton_doctor.report.recording.json import render_json

            return render_json(account, unserved)
        case RunForm.MARKDOWN:
            from triton_doctor.report.recording.markdown import render_markdown

            return render_markdown(account, cwd=cwd)
        case RunForm.HTML:
            from triton_doctor.report.recording.page import render_html
            from triton_doctor.report.source import line_reader

            return render_html(account, recordings, cwd=cwd, lines_of=line_reader(cwd, {}))
        case RunForm.TRACE:
            from triton_doctor.report.recording.trace import render_trace

            return render_trace(recordings)

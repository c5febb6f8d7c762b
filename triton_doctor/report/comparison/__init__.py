"""Two runs to what changed between them: variants, causes and time, kernel by kernel.

In: the recordings of a run before and of one after. Out: a `Comparison`, which `text` and `json` show.

A kernel is found again by name and module, or by its name alone where only one has it. A variant is found again by what
its launch passed: the values of constexprs, the classes of integers, the types and alignment of pointers, and options.
The machine, the source and the Triton that compiled it do not count. A variant is

- *new* where only the run after has it, *gone* where only the run before has it,
- *changed* where the same parameters compiled with other options, or where a parameter is of another kind now.

Example: before, `bs: tl.constexpr` was 17 to 28: 12 variants. After, `bs` is a plain argument: 1 variant. That is one
changed parameter, which leaves no variant new: it is the variant that all 12 become without `bs`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triton_doctor.report.comparison.compare import Comparison


class CompareForm(StrEnum):
    """The forms of `compare --output-format`."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


def render_comparison(comparison: Comparison, form: CompareForm) -> str:
    """Render `comparison` as text of `form`, ending with a line end."""
    match form:
        case CompareForm.TEXT:
            from triton_doctor.report.comparison.text import render_text

            return render_text(comparison)
        case CompareForm.MARKDOWN:
            from triton_doctor.report.comparison.text import render_markdown

            return render_markdown(comparison)
        case CompareForm.JSON:
            from triton_doctor.report.comparison.json import render_json

            return render_json(comparison)

"""`triton-doctor rule CODE`: the page of one rule."""

from enum import StrEnum
from typing import Annotated

import typer


class PageForm(StrEnum):
    """The forms in which a page is shown."""

    TEXT = "text"
    JSON = "json"


def rule(
    code: Annotated[str, typer.Argument(help="The code of a rule: TRD201.", show_default=False)],
    output_format: Annotated[PageForm, typer.Option(help="How to show it.")] = PageForm.TEXT,
) -> None:
    """Explain a rule: what it finds, why it matters, and what to do."""
    from triton_doctor.rulebook import read_page

    page = read_page(code.upper())
    if output_format is PageForm.JSON:
        from triton_doctor.report.rule_page import render_page_json

        typer.echo(render_page_json(page), nl=False)
        return
    import shutil
    import sys

    from triton_doctor.report.rule_page import render_page

    typer.echo(
        render_page(page, color=sys.stdout.isatty(), width=min(shutil.get_terminal_size((100, 24)).columns, 100)),
        nl=False,
    )

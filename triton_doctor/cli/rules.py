"""`triton-doctor rules`: all rules, a line each."""

from typing import Annotated

import typer

from triton_doctor.cli.rule import PageForm


def rules(
    output_format: Annotated[PageForm | None, typer.Option(help="How to show them.", show_default="text")] = None,
) -> None:
    """List all rules."""
    from triton_doctor.report.rule_page import render_pages_json, render_table
    from triton_doctor.rulebook import page_paths, read_page

    pages = [read_page(code) for code in page_paths()]
    typer.echo(render_pages_json(pages) if output_format is PageForm.JSON else render_table(pages), nl=False)

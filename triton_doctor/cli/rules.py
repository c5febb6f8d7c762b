"""`triton-doctor rules [CODES]`: all rules, or some of them, a line each."""

from typing import Annotated

import typer

from triton_doctor.cli.rule import PageForm


def rules(
    codes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CODES]...", help="Codes, prefixes such as TRD2, and names.", show_default="all"),
    ] = None,
    output_format: Annotated[PageForm | None, typer.Option(help="How to show them.", show_default="text")] = None,
) -> None:
    """List all rules, or those of CODES."""
    from triton_doctor.report.rule_page import render_pages_json, render_table
    from triton_doctor.rulebook import page_paths, read_page
    from triton_doctor.selection import codes_of, is_selected
    from triton_doctor.terminal import width_of_report

    asked = codes_of(codes or ())
    pages = [read_page(code) for code in page_paths() if is_selected(code, select=asked, ignore=())]
    json_wanted = output_format is PageForm.JSON
    typer.echo(render_pages_json(pages) if json_wanted else render_table(pages, width_of_report()), nl=False)

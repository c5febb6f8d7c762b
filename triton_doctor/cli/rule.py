"""`triton-doctor rule CODE`: the page of one rule. `triton-doctor rules [CODES]`: all rules, or some, a line each."""

from enum import StrEnum
from typing import Annotated

import typer

WIDEST = 100
USAGE = "CODE [--output-format text|json]"
# All that it takes is handed to `rule` as it came: to convert a value typer 0.29 imports pydantic, 0.05 s of CPU.
CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}


class PageForm(StrEnum):
    """The forms in which a page is shown."""

    TEXT = "text"
    JSON = "json"


def rule(context: typer.Context) -> None:
    """Explain a rule, TRD201 say: what it finds, why it matters, and what to do."""
    from triton_doctor.rulebook import read_page

    code, form = read_arguments([part for argument in context.args for part in argument.split("=", 1)])
    page = read_page(code)
    if form is PageForm.JSON:
        from triton_doctor.report.rule_page import render_page_json

        typer.echo(render_page_json(page), nl=False)
    else:
        from triton_doctor.report.rule_page import render_page
        from triton_doctor.terminal import color_report, width_of_report

        width = min(width_of_report() or WIDEST, WIDEST)
        color = color_report()
        typer.echo(render_page(page, color=color, width=width), nl=False, color=color)


def read_arguments(arguments: list[str]) -> tuple[str, PageForm]:
    """The code and the form that `arguments` ask for. Raises DoctorError for anything else."""
    match arguments:
        case [code] | [code, "--output-format", "text"] | ["--output-format", "text", code] if code[:1] != "-":
            return code, PageForm.TEXT
        case [code, "--output-format", "json"] | ["--output-format", "json", code] if code[:1] != "-":
            return code, PageForm.JSON
        case _:
            from triton_doctor.errors import DoctorError

            given = f"`{' '.join(arguments)}`" if arguments else "nothing"
            raise DoctorError(f"rule takes {USAGE}, not {given}", hint="`triton-doctor rules` lists the codes")


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

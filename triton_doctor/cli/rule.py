"""`triton-doctor rule [CODES]`: the page of one rule, or a line for each of several."""

from enum import StrEnum
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.rulebook import RulePage

WIDEST = 100
USAGE = "[CODES]... [--output-format text|json]"
FORM_OPTION = "--output-format"
# All that it takes is handed to `rule` as it came: to convert a value typer 0.29 imports pydantic, 0.05 s of CPU.
CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}


class PageForm(StrEnum):
    """The forms in which a page is shown."""

    TEXT = "text"
    JSON = "json"


def rule(context: typer.Context) -> None:
    """Explain a rule, TRD201 say: what it finds, why it matters, and what to do.

    CODES are codes, prefixes such as TRD2, and names. A prefix, several codes, or none at all list rules.
    """
    from triton_doctor.rulebook import page_paths, read_page, rule_code
    from triton_doctor.selection import codes_of, is_selected

    words, form = read_arguments([part for argument in context.args for part in argument.split("=", 1)])
    if len(words) == 1 and rule_code(words[0]) in page_paths():
        write_page(read_page(words[0]), form)
    else:
        asked = codes_of(words)
        write_table([read_page(code) for code in page_paths() if is_selected(code, select=asked, ignore=())], form)


def write_page(page: "RulePage", form: PageForm) -> None:
    """Print one page."""
    if form is PageForm.JSON:
        from triton_doctor.report.rule_page import render_page_json

        typer.echo(render_page_json(page), nl=False)
        return
    from triton_doctor.report.rule_page import render_page
    from triton_doctor.terminal import color_report, width_of_report

    width = min(width_of_report() or WIDEST, WIDEST)
    color = color_report()
    typer.echo(render_page(page, color=color, width=width), nl=False, color=color)


def write_table(pages: "Sequence[RulePage]", form: PageForm) -> None:
    """Print a line for each page."""
    from triton_doctor.report.rule_page import render_pages_json, render_table
    from triton_doctor.terminal import width_of_report

    typer.echo(render_pages_json(pages) if form is PageForm.JSON else render_table(pages, width_of_report()), nl=False)


def read_arguments(arguments: list[str]) -> tuple[list[str], PageForm]:
    """Split `arguments` into the codes and the form. Raises DoctorError for anything else."""
    words, form = list(arguments), PageForm.TEXT
    if FORM_OPTION in words:
        at = words.index(FORM_OPTION)
        value = words[at + 1 : at + 2]
        if value not in (["text"], ["json"]):
            raise_usage(arguments)
        form = PageForm(value[0])
        del words[at : at + 2]
    if any(word.startswith("-") for word in words):
        raise_usage(arguments)
    return words, form


def raise_usage(arguments: list[str]) -> None:
    """Raise the DoctorError for `arguments` that are none of `rule`."""
    from triton_doctor.errors import DoctorError

    raise DoctorError(f"rule takes {USAGE}, not `{' '.join(arguments)}`", hint="`triton-doctor rule` lists the codes")

"""`triton-doctor explain KERNEL [PATHS]`: what decides how many variants of a kernel there are."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from triton_doctor.cli.collection import uncollected


class VariantsForm(StrEnum):
    """The forms of `explain --output-format`."""

    TEXT = "text"
    JSON = "json"


@uncollected()
def explain(
    kernel: Annotated[str, typer.Argument(help="The name of a kernel, or a glob.")],
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATHS]...", help="Files and folders.", show_default=".")
    ] = None,
    output_format: Annotated[VariantsForm, typer.Option(help="The form of the report.")] = VariantsForm.TEXT,
) -> None:
    """Show every parameter of a kernel: how often it changes, where it comes from, what it is used for."""
    from triton_doctor.cli.progress import show_progress
    from triton_doctor.report.variants import draw_kernels, render_kernels_json
    from triton_doctor.settings import load_settings
    from triton_doctor.static.files import find_files
    from triton_doctor.static.library import Library
    from triton_doctor.static.project import whole_project
    from triton_doctor.static.variants import explain as explain_kernels
    from triton_doctor.terminal import color_report

    cwd = Path.cwd()
    asked = paths or ["."]
    settings = load_settings(cwd / asked[0])
    files = list(find_files(map(Path, asked), settings, cwd=cwd))
    with show_progress(len(files)) as on_progress:
        project = whole_project(Library(files), settings, cwd, on_progress)
    kernels = explain_kernels(project, kernel)
    if output_format is VariantsForm.JSON:
        typer.echo(render_kernels_json(kernels), nl=False)
        return
    from rich.console import Console

    color = color_report()
    console = Console(soft_wrap=False, highlight=False, force_terminal=color, no_color=not color)
    for part in draw_kernels(kernels):
        console.print(part, soft_wrap=isinstance(part, str))

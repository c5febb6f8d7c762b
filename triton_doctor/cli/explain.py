"""`triton-doctor explain KERNEL [PATHS]`: what decides how many variants of a kernel there are."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class VariantsForm(StrEnum):
    """The forms of `explain --output-format`."""

    TEXT = "text"
    JSON = "json"


def explain(
    kernel: Annotated[
        str | None, typer.Argument(help="The name of a kernel, or a glob.", show_default="list the kernels")
    ] = None,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATHS", help="Files and folders.", show_default=".")
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="List the hints on each parameter, the nearest ones where none decided.")
    ] = False,
    output_format: Annotated[VariantsForm, typer.Option(help="The form of the report.")] = VariantsForm.TEXT,
) -> None:
    """Show every parameter of a kernel: how often it changes, where it comes from, what it is used for."""
    from triton_doctor.cli.explained_kernels import explain_kernels, list_kernels
    from triton_doctor.cli.progress import show_progress
    from triton_doctor.cli.streams import columns_of_stdout, write_report
    from triton_doctor.report.variant_report import render_kernels, render_kernels_json
    from triton_doctor.settings import load_settings
    from triton_doctor.static.project.cache.store import CacheStore
    from triton_doctor.static.sources.workspace import find_workspace
    from triton_doctor.terminal import color_report

    cwd = Path.cwd()
    asked = [Path(path) for path in paths or ["."]]
    workspace = find_workspace(asked, load_settings(cwd / asked[0]), cwd=cwd)
    if kernel is None:
        write_report("".join(f"{name}\n" for name in list_kernels(workspace, cwd=cwd)), None)
        return
    cache = CacheStore.of(workspace)
    with show_progress(len(workspace.files)) as on_progress:
        kernels = explain_kernels(workspace, kernel, cache, cwd=cwd, on_progress=on_progress)
    if output_format is VariantsForm.JSON:
        write_report(render_kernels_json(kernels), None)
    else:
        write_report(render_kernels(kernels, color=color_report(), width=columns_of_stdout(), why=why), None)

"""`triton-doctor clean [PATHS]`: away with what `check` keeps between runs."""

import os
from pathlib import Path
from typing import Annotated

import typer

STOPPED = 2


def clean(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATHS]...", help="Folders to look in.", show_default=".")
    ] = None,
) -> None:
    """Remove the .triton_doctor_cache folders at and below PATHS. Kernels that Triton keeps are not touched.

    Links are not followed, and files that triton-doctor did not write stay. The exit status is 2 if a folder stays.
    """
    from triton_doctor.errors import DoctorError
    from triton_doctor.static.project.cache.folder import FOLDER
    from triton_doctor.static.project.cache.folder import clean as clean_folder
    from triton_doctor.terminal import escape_text

    removed, left = 0, 0
    for path in paths or [Path()]:
        if not path.is_dir():
            raise DoctorError(f"there is no folder {path}", hint=f"the working directory is {Path.cwd()}")
        for top, folders, _ in os.walk(path):
            if FOLDER in folders:
                folders.remove(FOLDER)
                folder = Path(top, FOLDER)
                reasons = clean_folder(folder)
                if reasons:
                    told = escape_text(f"{folder} is left: {', '.join(reasons)}")
                    typer.echo(f"triton-doctor: {told}", err=True)
                    left += 1
                else:
                    typer.echo(f"removed {escape_text(str(folder))}")
                    removed += 1
    if left:
        raise typer.Exit(STOPPED)
    if not removed:
        typer.echo("nothing to remove")

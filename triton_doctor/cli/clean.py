"""`triton-doctor clean [PATHS]`: away with what `check` keeps between runs."""

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer


def clean(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATHS]...", help="Folders to look in.", show_default=".")
    ] = None,
) -> None:
    """Remove the .triton_doctor_cache folders at and below PATHS. Kernels that Triton keeps are not touched."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.static.cache import FOLDER
    from triton_doctor.terminal import escape_text

    removed = 0
    for path in paths or [Path()]:
        if not path.is_dir():
            raise DoctorError(f"there is no folder {path}", hint=f"the working directory is {Path.cwd()}")
        for top, folders, _ in os.walk(path):
            if FOLDER in folders:
                folders.remove(FOLDER)
                folder = Path(top, FOLDER)
                try:
                    shutil.rmtree(folder)
                except OSError as error:
                    raise DoctorError(f"{folder} cannot be removed: {(error.strerror or '').lower()}") from error
                typer.echo(f"removed {escape_text(str(folder))}")
                removed += 1
    if not removed:
        typer.echo("nothing to remove")

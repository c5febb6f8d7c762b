"""The option `-o FILE` of commands that report."""

from pathlib import Path
from typing import Annotated

import typer

OutputFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the report there, in the form that the suffix names.",
        show_default="stdout",
    ),
]

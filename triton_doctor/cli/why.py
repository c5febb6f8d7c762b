"""`triton-doctor cache why`: which part of the key would let kernels miss here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from triton_doctor.cli.cache import Folder, PageFormOption, find_folder
from triton_doctor.cli.rule import PageForm

FOUND = 1


def why(
    what: Annotated[str, typer.Argument(metavar="KERNEL|PACK|DIR", help="A kernel's name, a pack, or a cache folder.")],
    cache_dir: Folder = None,
    target: Annotated[
        str | None, typer.Option(help="Compare with this architecture.", show_default="that of the GPUs here")
    ] = None,
    output_format: PageFormOption = PageForm.TEXT,
) -> None:
    """Show why Triton would not find a kernel here; exit with 1 for any."""
    import msgspec

    from triton_doctor.errors import DoctorError
    from triton_doctor.machine.packs.differences import judge_folder, judge_pack
    from triton_doctor.machine.packs.key_parts import require_key_parts
    from triton_doctor.report.cache import render_judgement, render_judgement_json
    from triton_doctor.runtime.compile_target import parse_target

    here = require_key_parts(os.environ)
    if target is not None:
        backend, arch, _ = parse_target(target)
        here = msgspec.structs.replace(here, targets=(f"{backend}:{arch}",))
    path = Path(what)
    if path.is_file() or what.endswith((".tar", ".tar.zst", ".sqlite")):
        judgement = judge_pack(path, here, os.environ)
    elif path.is_dir():
        judgement = judge_folder(path, "*", here, os.environ)
    else:
        judgement = judge_folder(find_folder(cache_dir), what, here, os.environ)
    if not judgement.kernels:
        shown = f"kernel {what}" if judgement.subject != what else "kernel"
        raise DoctorError(
            f"no {shown} in {judgement.subject}", hint="`triton-doctor cache list --all` lists a folder's"
        )
    form = render_judgement_json if output_format is PageForm.JSON else render_judgement
    typer.echo(form(judgement, here), nl=False)
    if judgement.misses:
        raise typer.Exit(FOUND)

"""`triton-doctor cache pack|unpack|why`: kernels as one file, such a file to a cache, and what would miss here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triton_doctor.cli.cache import STOPPED, Folder, PageFormOption, find_folder
from triton_doctor.cli.messages import print_detail, print_hint, print_message
from triton_doctor.cli.rule import PageForm

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.machine.packs.manifest import KeyParts, Manifest, PackedEntry

LARGEST_BYTES = 64 << 30
FOUND = 1


def pack(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The pack: *.tar.zst, *.tar, or *.sqlite.")],
    cache_dir: Folder = None,
    recording: Annotated[
        list[Path] | None, typer.Option(metavar="REC", help="Only what this recorded run used.", show_default="all")
    ] = None,
    with_code: Annotated[
        bool, typer.Option("--with-code", help="Keep the intermediate code too, for programs that read a kernel's asm.")
    ] = False,
) -> None:
    """Pack compiled kernels for machines with the same Triton."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.machine.packs.gather import gather
    from triton_doctor.machine.packs.key_parts import require_key_parts
    from triton_doctor.machine.packs.pack import require_form, write_pack
    from triton_doctor.report.cache import render_packed

    require_form(out)
    folder = find_folder(cache_dir)
    used = find_used(recording or [])
    gathered = gather(
        folder,
        require_key_parts(os.environ),
        wanted=used,
        with_code=with_code,
    )
    if not gathered.manifest.entries:
        raise DoctorError(f"nothing in {folder} to pack", hint="`triton-doctor cache list` shows what is there")
    size = write_pack(gathered, out)
    typer.echo(render_packed(gathered, out, size), nl=False)


def unpack(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A pack.")],
    cache_dir: Folder = None,
    seen_at: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Where the processes that use the folder see it.", show_default="the same"),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check/--no-check", help="Refuse a pack of which no kernel would be found by this Python."),
    ] = True,
    any_device: Annotated[
        bool, typer.Option("--any-device", help="Unpack results of tuning also where they are of another GPU.")
    ] = False,
) -> None:
    """Unpack into Triton's cache. Never overwrites, and is safe beside running processes."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.machine.cache_folder import locate_cache
    from triton_doctor.machine.packs.install import install, keep_manifest, require_room
    from triton_doctor.machine.packs.key_parts import require_key_parts
    from triton_doctor.machine.packs.pack import open_pack
    from triton_doctor.report.cache import render_unpacked

    folder = (cache_dir or locate_cache(os.environ).path).absolute()
    with open_pack(file) as (manifest, entries):
        if manifest.size_bytes > LARGEST_BYTES:
            raise DoctorError(
                f"{file} unpacks to {manifest.size_bytes:,} bytes: it is damaged, or no pack of kernels",
                hint="pack what one program uses, by --recording",
            )
        require_room(manifest.size_bytes, folder)
        wanted: Callable[[PackedEntry], bool] = lambda _: True  # noqa: E731
        if check:
            here = require_key_parts(os.environ)
            require_use(file, manifest, here)
            wanted = choose_tunings(manifest, here, any_device=any_device)
        chosen = (item for item in entries if wanted(item[0]))
        counts = install(chosen, folder, seen_at=seen_at.absolute() if seen_at else folder)
        keep_manifest(manifest, folder)
    typer.echo(render_unpacked(counts, folder), nl=False)
    if counts.unusable:
        print_message(f"{len(counts.unusable):,} of its entries are there already, damaged, and were left as they are")
        print_hint(f"remove {folder / counts.unusable[0]} and unpack again")
        raise typer.Exit(STOPPED)


def find_used(recordings: list[Path]) -> Callable[[PackedEntry], bool]:
    """Return a test for whether a recorded run used an entry. Raises DoctorError if no recording can be read."""
    from triton_doctor.cli.recorded import read_named
    from triton_doctor.kernel_names import function_name
    from triton_doctor.machine.cache_entries import name_entries
    from triton_doctor.machine.packs.manifest import KERNEL

    if not recordings:
        return lambda _: True
    events = [event for process in read_named(recordings).processes for event in process.compiles]
    exact = {name for event in events for name in name_entries(event.entry)}
    # A dry recording, or one of an older version, names kernels but not their entries.
    loose = {function_name(event.kernel.name) for event in events if not event.entry}
    if loose:
        print_message(f"{len(loose):,} kernels are recorded without their entries: every variant of theirs is packed")
    return lambda entry: entry.kind != KERNEL or entry.key in exact or entry.kernel in loose


def require_use(file: Path, manifest: Manifest, here: KeyParts) -> None:
    """Raise DoctorError where no kernel of the pack would be found here; say it where some would not."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.machine.packs.differences import find_misses
    from triton_doctor.machine.packs.manifest import KERNEL

    kernels = manifest.of_kind(KERNEL)
    misses = find_misses(((entry, manifest.parts) for entry in kernels), here)
    missed = {entry.key for miss in misses for entry in miss.entries}
    if kernels and len(missed) == len(kernels):
        raise DoctorError(
            f"{file}: no kernel of it would be found here: {misses[0].difference.message}",
            hint="`triton-doctor cache why` tells all; --no-check unpacks for another Python or machine",
        )
    if missed:
        print_message(f"{len(missed):,} of {len(kernels):,} kernels will not be found here")
        for miss in misses:
            print_detail(f"{len(miss.entries):,}: {miss.difference.message}")


def choose_tunings(manifest: Manifest, here: KeyParts, *, any_device: bool) -> Callable[[PackedEntry], bool]:
    """Return a test for whether to unpack an entry.

    Tuning results of another GPU are left out: their key has the architecture only.
    """
    from triton_doctor.machine.packs.manifest import TUNING

    packed = manifest.parts.gpus
    tunings = manifest.of_kind(TUNING)
    if any_device or not tunings or not packed or not here.gpus or set(here.gpus) <= set(packed):
        return lambda _: True
    print_message(
        f"{len(tunings):,} results of tuning are left out: of {', '.join(packed)}, here is {', '.join(here.gpus)}"
    )
    print_hint("--any-device unpacks them")
    return lambda entry: entry.kind != TUNING


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

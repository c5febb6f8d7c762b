"""`triton-doctor cache list|show|prune`: what Triton keeps on disk, why there is so much of it, and what may go."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triton_doctor.cli.messages import print_message
from triton_doctor.cli.rule import PageForm
from triton_doctor.phrases import plural
from triton_doctor.terminal import escape_text

if TYPE_CHECKING:
    from triton_doctor.machine.cache_entries import CacheEntry

STOPPED = 2
KERNELS_SHOWN = 30
KERNELS_SHOWN_BEFORE_ASKING = 10

Folder = Annotated[
    Path | None, typer.Option("--cache-dir", help="The cache folder.", show_default="where Triton would look")
]
PageFormOption = Annotated[PageForm, typer.Option("--output-format", help="How to show it.")]

cache = typer.Typer(help="Show, prune and move what Triton keeps on disk.", rich_markup_mode=None)


@cache.callback(invoke_without_command=True)
def options(context: typer.Context) -> None:
    """Show, prune and move what Triton keeps on disk."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(STOPPED)


@cache.command("list")
def list_kernels(
    cache_dir: Folder = None,
    output_format: PageFormOption = PageForm.TEXT,
    everything: Annotated[bool, typer.Option("--all", help="Show every kernel, not only the largest few.")] = False,
) -> None:
    """List the kernels, those with the most variants first."""
    from triton_doctor.machine.cache_entries import read_entries, sum_up
    from triton_doctor.machine.cache_lookups import count_lookups
    from triton_doctor.report.cache import render_list, render_list_json, render_lookups

    folder = find_folder(cache_dir)
    content, lookups = sum_up(read_entries(folder)), count_lookups(folder)
    if output_format is PageForm.JSON:
        typer.echo(render_list_json(folder, content, lookups), nl=False)
    else:
        at_most = None if everything else KERNELS_SHOWN
        typer.echo(render_list(folder, content, now=time.time(), at_most=at_most), nl=False)
        typer.echo(render_lookups(lookups), nl=False)


@cache.command("show")
def show_kernel(
    kernel: Annotated[str, typer.Argument(metavar="KERNEL", help="The kernel's name.")],
    cache_dir: Folder = None,
) -> None:
    """Show what differs between the variants of a kernel."""
    from triton_doctor.machine.cache_variants import VARIANTS_READ, describe_variants
    from triton_doctor.report.cache import render_stories

    folder = find_folder(cache_dir)
    entries = entries_of(folder, kernel)
    if len(entries) > VARIANTS_READ:
        print_message(f"reading the newest {VARIANTS_READ} of {len(entries):,} variants")
    typer.echo(render_stories(describe_variants(folder, entries)), nl=False)


@cache.command("prune")
def prune(
    older_than: Annotated[str, typer.Option(metavar="AGE", help="Remove what was not used for so long: 30d, 12h.")],
    cache_dir: Folder = None,
    kernel: Annotated[str | None, typer.Option(help="Only of this kernel.", show_default="all")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and remove nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove kernels that were not used for long. Triton compiles them again when they are needed."""
    from triton_doctor.machine.cache_entries import (
        choose_old,
        keeps_times_of_use,
        parse_age,
        read_entries,
        remove_entry,
        sum_up,
    )
    from triton_doctor.report.cache import render_list

    age, now = parse_age(older_than), time.time()
    folder = find_folder(cache_dir)
    old = list(choose_old(read_entries(folder), older_than_seconds=age, now=now, kernel=kernel))
    if not old:
        typer.echo(f"nothing in {escape_text(str(folder))} is that old")
        return
    if not keeps_times_of_use(folder):
        print_message("this file system keeps no times of use: ages count from the compile")
    typer.echo(render_list(folder, sum_up(old), now=now, at_most=KERNELS_SHOWN_BEFORE_ASKING), nl=False)
    if dry_run:
        typer.echo(f"would remove {plural(len(old), 'entry', 'entries')}")
    elif yes or agrees(f"remove {plural(len(old), 'entry', 'entries')}?"):
        removed = sum(remove_entry(folder, entry) for entry in old)
        typer.echo(f"removed {plural(removed, 'entry', 'entries')}")
        if removed < len(old):
            left = plural(len(old) - removed, "entry")
            print_message(f"{left} could not be removed")
            raise typer.Exit(STOPPED)
    else:
        typer.echo("removed nothing")


def agrees(question: str) -> bool:
    """Return the user's answer to `question`. Raises DoctorError if there is no terminal."""
    from triton_doctor.errors import DoctorError

    try:
        return typer.confirm(question, err=True)
    except typer.Abort as error:
        raise DoctorError(
            "nothing was removed: there is no terminal to confirm it on", hint="--yes removes without asking"
        ) from error


def find_folder(asked: Path | None) -> Path:
    """Return the cache folder `asked` for, or Triton's. Raises DoctorError if it does not exist or is unreadable."""
    import os

    from triton_doctor.errors import DoctorError
    from triton_doctor.machine.cache_folder import locate_cache

    folder = asked or locate_cache(os.environ).path
    if not folder.is_dir():
        raise DoctorError(f"there is no cache folder {folder}", hint="--cache-dir names another")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise DoctorError(f"{folder} cannot be read", hint="the folder belongs to another user")
    return folder


def entries_of(folder: Path, kernel: str) -> list[CacheEntry]:
    """Return the cache entries of `kernel`. Raises DoctorError if there are none."""
    from difflib import get_close_matches

    from triton_doctor.errors import DoctorError
    from triton_doctor.machine.cache_entries import read_entries

    entries = list(read_entries(folder))
    found = [entry for entry in entries if entry.kernel == kernel]
    if not found:
        close = get_close_matches(kernel, {entry.kernel for entry in entries if entry.kernel}, n=1)
        hint = f"did you mean `{close[0]}`?" if close else "`triton-doctor cache list --all` lists them"
        raise DoctorError(f"no kernel {kernel} in {folder}", hint=hint)
    return found

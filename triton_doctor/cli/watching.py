"""`check --watch`: check, wait until a file changes, clear the terminal, and check again."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from triton_doctor.cli.messages import print_hint, print_message
from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

# Editors write a file in several steps: what changes within this time is one change.
_SETTLE_MS = 50
_PATIENCE_MS = 200
# Back to the upper left, and clear all that is there and what scrolled away.
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


def watch(paths: Sequence[str], check_once: Callable[[], None]) -> None:
    """Call `check_once`, which ends with `typer.Exit`, now and after each change below the projects of `paths`.

    Ends with the KeyboardInterrupt of Ctrl-C. What was not right, settings that do not parse say, is said, and waited
    for to change.
    """
    changes = _changes(paths)
    next(changes)  # from now on it looks: what changes during the first check counts
    is_first = True
    while True:
        if sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
        try:
            check_once()
        except typer.Exit:
            pass
        except DoctorError as error:
            if is_first:
                raise
            print_message(error.message)
            print_hint(error.hint)
        sys.stdout.flush()
        gc.collect()  # a command leaves it to the end of the process, which is not soon here
        print_message("waiting for a file to change; Ctrl-C ends it")
        is_first = False
        while not next(changes):
            pass


def _changes(paths: Sequence[str]) -> Iterator[Collection[object]]:
    """Yield changes of files that `check` may read; an empty set from time to time."""
    import watchfiles

    from triton_doctor.static.sources.files import EXCLUDED, kind_of
    from triton_doctor.static.sources.workspace import find_project

    roots = sorted({find_project(Path(path), Path.cwd()).root for path in paths})

    def matters(_: object, path: str) -> bool:
        name = Path(path)
        below = next((name.relative_to(root) for root in roots if name.is_relative_to(root)), name)
        return kind_of(name.name) is not None and not EXCLUDED.intersection(below.parts)

    return watchfiles.watch(
        *roots, watch_filter=matters, step=_SETTLE_MS, rust_timeout=_PATIENCE_MS, yield_on_timeout=True
    )

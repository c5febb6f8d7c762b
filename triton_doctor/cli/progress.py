"""Progress on stderr, once it has taken long enough to wonder: a bar on a terminal, else a line each ten seconds."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from triton_doctor.cli.messages import print_message
from triton_doctor.terminal import environment_of_console

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from rich.progress import Progress

    class Advance(Protocol):
        """Shows the number that is done, and what the work is now, where that changes."""

        def __call__(self, done: int, now: str | None = None, /) -> None:
            """Show both."""


PATIENCE_SECONDS, LINE_SECONDS = 1.0, 10.0


@contextmanager
def show_progress(total: int, work: str = "reading") -> Iterator[Advance]:
    """Give a function that takes how many of `total` are done: a bar on a terminal, else a line each 10 s."""
    began = time.monotonic()
    if not sys.stderr.isatty():
        printed = began

        def print_progress(done: int, now: str | None = None) -> None:
            nonlocal printed
            if time.monotonic() - printed >= LINE_SECONDS:
                printed = time.monotonic()
                print_message(f"{now or work}: {done:,} of {total:,} after {printed - began:.0f} s")

        yield print_progress
        return
    bar: Progress | None = None

    def advance(done: int, now: str | None = None) -> None:
        nonlocal bar
        if bar is None and time.monotonic() - began > PATIENCE_SECONDS:
            bar = start_bar(total, work)
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done, description=now)

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()


def start_bar(total: int, work: str = "reading") -> Progress:
    """Start a progress bar that is erased when it stops."""
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True, _environ=environment_of_console()), transient=True)
    bar.add_task(work, total=total)
    bar.start()
    return bar

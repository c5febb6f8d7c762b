"""Python processes that tests start: nothing in them is watched, so the summary names them."""

from __future__ import annotations

import multiprocessing.process
import os
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.slots import Slot
from triton_doctor.runtime.launch.following import is_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# pytest names the test that runs, and its phase, in this variable.
CURRENT_TEST = "PYTEST_CURRENT_TEST"
LONGEST_COMMAND, CHILDREN_SHOWN = 80, 8


def watch_children(started: list[tuple[str, str]]) -> Callable[[], None]:
    """Add (test, command) of each to `started` from now on, until what this returns is called."""
    opening = Slot(subprocess.Popen, "__init__")
    starting = Slot(multiprocessing.process.BaseProcess, "start")

    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        try:
            command = name_python(args[0] if args else options.get("args"))
            if command is not None:
                started.append((name_test(), command))
        except Exception:  # what is no command, Popen says
            pass
        opening.before(self, *args, **options)

    def start(self: Any) -> None:
        started.append((name_test(), f"multiprocessing: {self.name}"))
        starting.before(self)

    opening.fill(__init__)
    starting.fill(start)

    def restore() -> None:
        opening.restore()
        starting.restore()

    return restore


def name_python(command: Any) -> str | None:
    """Return the command of a Python process on one short line; None if `command` is not a Python process."""
    words = command.split() if isinstance(command, str) else [os.fsdecode(word) for word in command]
    if not words or not is_python(words[0]):
        return None
    text = " ".join(" ".join(["python", *words[1:]]).split())
    return text if len(text) <= LONGEST_COMMAND else f"{text[: LONGEST_COMMAND - 3]}..."


def name_test() -> str:
    """Return the id of the test that is running; empty if none is."""
    return os.environ.get(CURRENT_TEST, "").rpartition(" (")[0]


def summarize_children(started: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Name the processes in `started`, (test, command): what they compile is counted nowhere."""
    if started:
        number = "1 child process" if len(started) == 1 else f"{len(started)} child processes"
        yield f"not watched, and counted against no limit: {number}"
    each = list(Counter(started).items())
    for (test, command), count in each[:CHILDREN_SHOWN]:
        often = f", {count} times" if count > 1 else ""
        yield f"  `{command}`{often}, of {test or 'no test'}"
    if len(each) > CHILDREN_SHOWN:
        yield f"  and {len(each) - CHILDREN_SHOWN} others"

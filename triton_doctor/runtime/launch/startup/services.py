"""Imported at the start of each Python whose environment has TRITON_DOCTOR, by triton_doctor.pth: waits for triton.

That file is beside the package where it is installed, and does nothing where the variable is not set. Under `run` it is
`run` that waits.
"""

from __future__ import annotations

import os
import sys

from triton_doctor.runtime.launch.startup.sitecustomize import FOLDER, VARIABLE, Doorkeeper, watch_late_imports

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def begin(words: str) -> None:
    """Start the services in `words` once Triton is imported, or now if it is; does nothing under `run`."""
    if os.environ.get(FOLDER) or not words:
        return
    keeper = Doorkeeper()

    def act() -> None:
        watch_late_imports(keeper)
        begin_now(keeper, words)

    if "triton" in sys.modules:
        act()
    else:
        keeper.after["triton"] = act
    if keeper.after:
        sys.meta_path.insert(0, keeper)


def begin_now(keeper: Doorkeeper, words: str) -> None:
    """Start the services in `words`, since Triton is imported. Prints a failure instead of raising."""

    def when_imported(name: str, act: Callable[[], None]) -> None:
        if name in sys.modules:
            act()
        else:
            keeper.after[name] = act

    try:
        from triton_doctor.runtime.live.environment_services import begin_services

        begin_services(words, when_imported)
    except Exception as error:
        message, hint = getattr(error, "message", repr(error)), getattr(error, "hint", None)
        sys.stderr.write(f"triton-doctor: {message}{': ' if hint else ''}{hint or ''}\n")


begin(os.environ.get(VARIABLE, ""))

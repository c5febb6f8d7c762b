"""The command `triton-doctor`, and `python -m triton_doctor`."""

from __future__ import annotations

import gc
import os
import signal
import sys

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

STOPPED = 2
INTERRUPTED = 130


def main() -> int:
    """Run the command and return its exit status. Ctrl-C during imports, or after the end, exits at once."""
    hear_interrupts(leave_interrupted)
    try:
        from triton_doctor.standard_streams import guard_streams

        guard_streams()
        return start(sys.argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED
    except FileNotFoundError:
        from triton_doctor.errors import GONE, working_folder

        if working_folder() != GONE:
            raise
        from triton_doctor.run_command import print_message

        print_message("the working directory is gone", hint="go to a folder that is there")
        return STOPPED
    finally:
        hear_interrupts(leave_interrupted)


def start(arguments: list[str]) -> int:
    """Run the command and return its exit status.

    `run` starts its program before the command line's library is imported.
    """
    if arguments[:1] == ["run"]:
        from triton_doctor.errors import DoctorError

        try:
            from triton_doctor.run_command import print_message, run_command
            from triton_doctor.runtime.launch.run_options import HelpAsked
            from triton_doctor.runtime.launch.supervise import leave_as

            hear_interrupts(signal.default_int_handler)
            end(leave_as(run_command(arguments[1:])))
        except DoctorError as error:
            print_message(error.message, hint=error.hint)
            return STOPPED
        except HelpAsked:
            pass
    from triton_doctor.cli import main

    hear_interrupts(signal.default_int_handler)
    if arguments[:1] == ["sweep"]:
        # It runs the user's code, and Triton's, which reports what is not freed at the end.
        return main(arguments)
    # To go over syntax trees and models again and again, once more at exit, took a third of the time: 3.1 s of CPU
    # against 2.0 for liger-kernel and fla-core. Reference counts free nearly all, and the end of this process the rest.
    # It is said here and not in `cli.main`, which a longer process may call many times.
    gc.disable()
    try:
        return main(arguments)
    finally:
        gc.freeze()


def hear_interrupts(handler: Callable[[int, Any], Any]) -> None:
    """Let `handler` hear Ctrl-C, unless who started us wants it ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)


def leave_interrupted(number: int, frame: object) -> NoReturn:
    """End this process without a word."""
    os._exit(INTERRUPTED)


def end(status: int) -> NoReturn:
    """Leave at once: there is nothing to tidy up, and the program has been waited for already."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())

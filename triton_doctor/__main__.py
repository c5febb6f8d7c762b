"""The command `triton-doctor`, and `python -m triton_doctor`."""

from __future__ import annotations

import os
import sys

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> int:
    """The exit status. `run` starts its program before the library of the command line is imported."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"] and arguments[1:2] not in (["--help"], ["-h"]):
        from triton_doctor.errors import DoctorError

        try:
            from triton_doctor.run_command import run_command
            from triton_doctor.runtime.launch.supervise import leave_as

            end(leave_as(run_command(arguments[1:])))
        except DoctorError as error:
            hint = f"\nhint: {error.hint}" if error.hint else ""
            sys.stderr.write(f"triton-doctor: {error.message}{hint}\n")
            return 2
        except KeyboardInterrupt:
            return 130
    from triton_doctor.cli import main

    return main()


def end(status: int) -> NoReturn:
    """Leave at once: there is nothing to tidy up, and the program has been waited for already."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            continue  # who read it has left; the program's status is not that of our report
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())

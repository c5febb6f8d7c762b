"""What the user can put right, and how it is worded."""

import os

# Where the working directory was removed: a name that no file has.
GONE = f"{os.sep}(gone)"


class DoctorError(Exception):
    """A failure that the user can put right, told in one line with a hint; the command ends with exit status 2."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Create an error: `message` says what is wrong and where, `hint` what to do."""
        super().__init__(message)
        self.message = message
        self.hint = hint


def reason_of(error: OSError) -> str:
    """Return the operating system's message in the style of our messages: "no space left on device"."""
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


def working_folder() -> str:
    """Return the working directory; GONE if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109, `pathlib` costs a start of a program 5 ms
    except FileNotFoundError:
        return GONE

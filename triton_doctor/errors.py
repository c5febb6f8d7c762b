"""What the user can put right."""


class DoctorError(Exception):
    """A failure that the user can put right, told in one line with a hint; the command ends with exit status 2."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """`message` says what and where; `hint` what to do."""
        super().__init__(message)
        self.message = message
        self.hint = hint

"""`triton-doctor server`: the language server, on stdin and stdout."""

import os
import sys

import typer


def server() -> None:
    """Speak the Language Server Protocol on stdin and stdout, for editors. Needs the extra `lsp`."""
    from triton_doctor.errors import DoctorError

    try:
        from triton_doctor.editor.features import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "tomlkit", "cattrs"):
            raise
        raise DoctorError(
            f"the language server needs {error.name}", hint='`pip install "triton-doctor[lsp]"` installs it'
        ) from error
    serving = make_server()
    # What anybody prints goes to stderr, which editors show in a log: stdout is the protocol's alone.
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr
    serving.start_io(stdout=stdout)
    raise typer.Exit(0 if serving.is_asked_to_end else 1)

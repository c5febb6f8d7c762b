"""`triton-doctor server`: the language server, on stdin and stdout."""

import os
import sys

import typer


def server() -> None:
    """Serve editors by the Language Server Protocol on stdin and stdout."""
    from triton_doctor.editor.features import make_server

    serving = make_server()
    # What anybody prints goes to stderr, which editors show in a log: stdout is the protocol's alone.
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr
    serving.start_io(stdout=stdout)
    raise typer.Exit(0 if serving.is_asked_to_end else 1)

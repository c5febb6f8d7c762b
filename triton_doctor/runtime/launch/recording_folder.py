"""Where the recordings of a run lie: a folder while it goes on; what the user named, or `kept_runs`, at the end."""

from __future__ import annotations

import contextlib
import os
import time

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.kept_runs import keeping_folder, open_run, recordings_in, remove_idle
from triton_doctor.runtime.launch.process_notes import process_of

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

# What the processes write lies there until the file that was asked for is put together.
PARTS = ".parts"


class RecordingFolder:
    """A folder for the recordings of one run. `output` is a file, a folder, or None: then it is a kept run.

    Without `keep`, and where it cannot be kept, it is a temporary folder.
    The names of its recordings begin with `run`, which no other run on any host has: runs can share a folder.
    """

    def __init__(self, output: str | None, *, force: bool = False, keep: bool = False) -> None:
        """Create the folder for `output`; `keep` leaves the run in `.triton_doctor/`.

        `force` overwrites an existing file.
        Raises DoctorError if it cannot be written.
        """
        self.run = f"{os.uname().nodename}-{os.getpid()}-{int(time.time())}"
        self.file = None if output is None or is_folder(output) else os.path.abspath(output)
        self.kept = output is not None
        self.run_path: str | None = None
        self._held = -1
        if output is None and keep:
            with contextlib.suppress(OSError):
                self.run_path, self._held = open_run(keeping_folder(os.getcwd()), self.run)
        if self.run_path is not None:
            self.path = self.run_path
        elif output is None:
            base = os.environ.get("TMPDIR") or "/tmp"
            self.path = os.path.join(base, f"triton-doctor-{os.getpid()}-{time.time_ns():x}")
        else:
            self.path = os.path.abspath(output) if self.file is None else self.file + PARTS
        try:
            if self.file is not None:
                require_new(self.file, force=force)
                open_for_trial(self.file)
            os.makedirs(self.path, mode=0o777 if self.kept else 0o700, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise DoctorError(
                f"cannot write {output or self.path}: {reason}", hint="-o names a file or a folder"
            ) from error
        if self.file is not None and any(name.endswith(".jsonl") for name in os.listdir(self.path)):
            raise DoctorError(
                f"{self.path} holds recordings of a run that was cut off",
                hint=f"`triton-doctor report {self.path}` reads them; name another file with -o, or remove that folder",
            )

    def recordings(self) -> list[str]:
        """Return the paths of the recordings that processes of this run wrote."""
        prefix = f"{self.run}."
        try:
            names = sorted(n for n in os.listdir(self.path) if n.endswith(".jsonl") and n.startswith(prefix))
        except OSError:
            return []
        return [os.path.join(self.path, name) for name in names]

    def close(self, *, outliving: Collection[int] = ()) -> str | None:
        """Merge the recordings if a file was asked for; return what is missing, or None.

        `outliving` are processes still running: then the folder stays, with their recordings.
        """
        gone = not os.path.isdir(self.path)
        if self.run_path is not None:
            if not recordings_in(self.run_path):
                remove_idle(self.run_path, self._held)
            os.close(self._held)
        if gone:
            return f"the recordings in {self.path} are gone: the program, or somebody, removed them"
        if not self.kept and self.run_path is None:
            self._remove()
        if self.file is None:
            return None
        try:
            with open(self.file, "wb") as whole:
                whole.writelines(self._parts())
        except OSError as error:
            return f"cannot write {self.file}: {(error.strerror or str(error)).lower()}; {self.path} has it in parts"
        self._remove(outliving)
        return None

    def _parts(self) -> Iterator[bytes]:
        for path in self.recordings():
            with open(path, "rb") as part:
                text = part.read()
            yield text if text.endswith(b"\n") or not text else text + b"\n"

    def _remove(self, outliving: Collection[int] = ()) -> None:
        try:
            for path in self.recordings():
                if process_of(path) not in outliving:
                    os.unlink(path)
            if not outliving:
                os.rmdir(self.path)
        except OSError:
            return  # what somebody else put there stays


def is_folder(output: str) -> bool:
    """Return whether `output` names a folder: an existing one, or a name without a suffix."""
    if os.path.isdir(output):
        return True
    return output.endswith(os.sep) or (not os.path.splitext(output)[1] and not os.path.isfile(output))


def require_new(path: str, *, force: bool) -> None:
    """Raise DoctorError if the file `path` has contents that would be lost."""
    if not force and os.path.isfile(path) and os.path.getsize(path):
        raise DoctorError(
            f"{path} is there already", hint="name another file with -o, a folder that keeps each run, or add --force"
        )


def open_for_trial(path: str) -> None:
    """Raise OSError if `path` cannot be written, before the program starts."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    new = not os.path.exists(path)
    with open(path, "ab"):
        pass
    if new:
        os.unlink(path)

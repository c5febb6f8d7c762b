"""The recordings that `run` keeps by itself: a folder for each run, the newest ten, and none that is in use is removed.

They lie in `.triton_doctor` where the working directory is the root of a project that can be written, else in the
state folder of the user. A run holds a shared lock on its folder, and so does each reader while it reads; what is
removed is locked first, without waiting. The ranks of one job, each under a `run` of its own, share a folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
import zlib

from triton_doctor.runtime.launch.process_notes import is_closed, process_of

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME, LOCK = ".triton_doctor", ".triton-doctor-lock"
PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
RUNS_KEPT = 10
# Who wrote a recording on another host, and never closed it, may still write it for so long.
UNCLOSED_S = 24 * 3600
# The rank and the number of ranks, as torchrun, Open MPI, Slurm and other starters of MPI give them to a process; and
# what the ranks of one job have in common.
RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
JOBS = ("SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE", "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")


def keeping_folder(cwd: str) -> str:
    """Return where the runs of the working directory `cwd` are kept."""
    if os.access(cwd, os.W_OK | os.X_OK) and any(os.path.exists(os.path.join(cwd, mark)) for mark in PROJECT_MARKS):
        return os.path.join(cwd, NAME)
    return state_folder()


def state_folder() -> str:
    """Return where runs outside of a project are kept."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "triton-doctor")


def open_run(folder: str, run: str) -> tuple[str, int]:
    """Make a folder for `run` in `folder`, and return its path and the descriptor that holds its lock.

    Removes the oldest runs. Raises OSError where nothing can be written, or `folder` is another user's.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.lstat(folder).st_uid != os.getuid():
        raise PermissionError(f"{folder} is not this user's")
    ignored = os.path.join(folder, ".gitignore")
    if not os.path.exists(ignored):
        with open(ignored, "w", encoding="utf-8") as file:
            file.write("*\n")
    path = os.path.join(folder, run)
    if (rank := rank_of(os.environ)) is not None:
        path = join_ranks(folder, *rank)
    os.makedirs(path, mode=0o700, exist_ok=True)
    held = os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    with contextlib.suppress(OSError):
        fcntl.flock(held, fcntl.LOCK_SH)
    remove_oldest(folder)
    return path, held


def rank_of(environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return a checksum of the job, which the environment names, and the rank; None where it is no rank of several."""
    for rank, size in RANKS:
        if environment.get(rank, "").isdecimal() and environment.get(size, "1") != "1":
            job = "-".join(environment[name] for name in JOBS if environment.get(name))
            return f"{zlib.crc32(job.encode()):08x}", environment[rank]
    return None


def join_ranks(folder: str, job: str, rank: str) -> str:
    """Return the latest run of `job` in `folder` that has no `rank` yet, which it has from now on, or a new one.

    Ports and ids of jobs come again: the second run of a rank is the next run of its job.
    """
    prefix = f"ranks-{job}."
    numbers = [name.removeprefix(prefix) for name in os.listdir(folder) if name.startswith(prefix)]
    number = max((int(text) for text in numbers if text.isdecimal()), default=1)
    while True:
        path = os.path.join(folder, f"{prefix}{number}")
        os.makedirs(path, mode=0o700, exist_ok=True)
        try:
            os.close(os.open(os.path.join(path, f".rank-{rank}"), os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            number += 1
        else:
            return path


def list_runs(folder: str) -> list[str]:
    """Return the runs in `folder`, the newest first."""
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                path = os.path.join(folder, name)
                found.append((os.stat(os.path.join(path, LOCK)).st_mtime_ns, path))
    return [path for _, path in sorted(found, reverse=True)]


def find_latest(cwd: str) -> str | None:
    """Return the latest run with a recording that was made in `cwd`, else outside of a project; None for none."""
    runs = [path for folder in dict.fromkeys((keeping_folder(cwd), state_folder())) for path in list_runs(folder)]
    return next((path for path in runs if recordings_in(path)), None)


def recordings_in(path: str) -> list[str]:
    """Return the recordings of a run."""
    try:
        return [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".jsonl")]
    except OSError:
        return []


def remove_oldest(folder: str) -> None:
    """Remove all but the newest runs in `folder`; those that go on or are being read stay. Never raises."""
    for path in list_runs(folder)[RUNS_KEPT:]:
        remove_idle(path)


def remove_idle(path: str, held: int | None = None) -> None:
    """Remove a run that nobody but the descriptor `held` has locked, and whose processes have ended. Never raises."""
    with contextlib.suppress(OSError):
        lock = os.open(os.path.join(path, LOCK), os.O_RDWR) if held is None else held
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not any(map(is_written, recordings_in(path))):
                shutil.rmtree(path, ignore_errors=True)
        finally:
            if held is None:
                os.close(lock)


def is_written(recording: str) -> bool:
    """Return whether a process that outlives its run may still write the file."""
    if is_closed(recording):
        return False
    if os.path.basename(recording).startswith(f"{os.uname().nodename}-"):
        return os.path.exists(f"/proc/{process_of(recording)}")
    return time.time() - os.stat(recording).st_mtime < UNCLOSED_S


@contextlib.contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep the run that `path`, a folder or a file in one, belongs to while it is read; others need no lock."""
    held = None
    with contextlib.suppress(OSError):
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        held = os.open(os.path.join(folder, LOCK), os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_SH)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)

"""Trials of one kind in child processes: which crash, hang, or differ, with their files kept."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.connection import Connection

    from tests.fuzz.sources import Sources

# By CPU time, so that a busy machine makes no hangs; what waits for something, a FIFO say, uses none at all.
HANG_CPU_S, WAIT_S = 20, 180
MEMORY_BYTES = 4 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """`files` by path below an empty folder, and what is run there: None where all is well, else what differs."""

    files: Mapping[str, bytes]
    run: Callable[[Path], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Trial `number` ended as `how`: "crash", "hang" or "difference"."""

    number: int
    how: str
    what: str


@dataclass(slots=True, kw_only=True)
class Report:
    """How many trials of `kind` were run, and those that failed."""

    kind: str
    seed: int
    trials: int = 0
    failures: list[Failure] = field(default_factory=list)

    def __str__(self) -> str:
        counts = [f"{sum(one.how == how for one in self.failures):,} {name}" for how, name in _ENDINGS.items()]
        return f"{self.kind}, seed {self.seed}: {self.trials:,} trials: {', '.join(counts)}"


_ENDINGS = {"crash": "crashes", "hang": "hangs", "difference": "differences"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Which trials to run: from number `first`, `count` of them or as many as `seconds` allow."""

    kind: str
    make: Callable[[Random, Sources], Trial]
    sources: Sources
    seed: int = 1
    first: int = 0
    count: int | None = None
    seconds: float | None = None
    keep: Path | None = None
    stop_at: int = 20


def run(course: Course, tell: Callable[[str], None] = lambda line: None) -> Report:
    """Run the trials of `course`, each failure through `tell`; after `stop_at` failures, no more."""
    report = Report(kind=course.kind, seed=course.seed)
    ends = None if course.seconds is None else time.monotonic() + course.seconds
    number = course.first
    while len(report.failures) < course.stop_at and not _is_over(course, number, ends):
        number = _run_child(course, number, ends, report, tell)
    return report


def _is_over(course: Course, number: int, ends: float | None) -> bool:
    if course.count is not None and number >= course.first + course.count:
        return True
    return ends is not None and time.monotonic() >= ends


def _run_child(course: Course, number: int, ends: float | None, report: Report, tell: Callable[[str], None]) -> int:
    """Run trials in one child until the course or the child is over; the number of the trial to go on with."""
    forking = multiprocessing.get_context("fork")
    ours, theirs = forking.Pipe()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        child = forking.Process(target=_work, args=(course, number, ends, Path(folder), theirs), daemon=True)
        child.start()
        theirs.close()
        failure: Failure | None = None
        try:
            while failure is None:
                before = _cpu_ticks(child.pid)
                if ours.poll(WAIT_S):
                    failure = ours.recv()
                    report.trials += 1
                    number += 1
                elif _cpu_ticks(child.pid) == before:
                    failure = Failure(number=number, how="hang", what=f"it has waited for {WAIT_S} s")
        except EOFError:
            child.join()
            if child.exitcode:
                how = "hang" if child.exitcode == -signal.SIGXCPU else "crash"
                failure = Failure(number=number, how=how, what=f"the process ended with status {child.exitcode}")
        child.kill()
        child.join()
        ours.close()
        if failure is None:
            return number
        if failure.number == number:
            report.trials += 1
            number += 1
        report.failures.append(failure)
        tell(f"{failure.how} in trial {failure.number}: {failure.what}")
        if course.keep is not None:
            shutil.copytree(folder, course.keep / f"{course.kind}-{course.seed}-{failure.number}", dirs_exist_ok=True)
    return number


def _cpu_ticks(process: int | None) -> int:
    """The CPU time of a process so far, in ticks of the system's clock (man 5 proc_pid_stat: utime, stime)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _mapped_bytes() -> int:
    """The address space of this process (man 5 proc_pid_statm): a parent with a GPU has mapped tens of GB."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _work(course: Course, number: int, ends: float | None, folder: Path, line: Connection) -> None:
    """Run trials, and send for each None or its failure; a child of the driver."""
    limit = _mapped_bytes() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123, the process ends with it
    while not _is_over(course, number, ends):
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + HANG_CPU_S, hard))
        line.send(_failure(course, number, folder))
        number += 1


def _failure(course: Course, number: int, folder: Path) -> Failure | None:
    _empty(folder)
    try:
        trial = course.make(Random(f"{course.seed}:{number}"), course.sources)
        for name, data in trial.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        os.chdir(folder)
        difference = trial.run(folder)
    except Exception:
        return Failure(number=number, how="crash", what=traceback.format_exc())
    return None if difference is None else Failure(number=number, how="difference", what=difference)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

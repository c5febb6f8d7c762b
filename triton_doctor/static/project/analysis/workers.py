"""An inquiry to its answers: by this process where there is little to read, by one a core where there is much."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.project.analysis.file_analysis import analyze_files
from triton_doctor.static.project.analysis.summaries import FileSummaries, summarize_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

    from triton_doctor.static.project.analysis.file_analysis import Analysis
    from triton_doctor.static.project.cache.scan_cache import FileResult
    from triton_doctor.static.project.database.database import Database

# Less than this, about 4 seconds' work, is not worth another process: each reads some files that others read too.
_LEAST_BYTES = 6_000_000
_MOST_WORKERS = 4


def run_analysis(
    inquiry: Analysis, on_progress: Callable[[int], None], *, alone: bool = False, least_bytes: int = _LEAST_BYTES
) -> tuple[FileSummaries, dict[str, FileResult]]:
    """The shares and the answers of all files. `on_progress` gets the number of files done so far.

    `alone` where the caller will ask the shares for launches: they are in the process that has read them.
    """
    size = sum(_size(inquiry.library, path) for path in _anew(inquiry))
    count = min(_cores(), _MOST_WORKERS, size // least_bytes)
    if count > 1 and not alone and sys.platform == "linux":
        try:
            return _run_in_workers(inquiry, on_progress, count)
        except (OSError, EOFError):
            # A worker was killed, or failed as this process will, in its own words.
            pass
    shares = summarize_files(inquiry.library, inquiry.before.shares, inquiry.changes, on_progress)
    return shares, analyze_files(inquiry, shares, shares.by_path)


def _anew(inquiry: Analysis) -> list[str]:
    """The files whose shares are certain to be worked out."""
    kept = inquiry.before.shares.keys() - inquiry.changes.paths
    return [path for path in inquiry.library.subjects() if path not in kept]


def _size(library: Database, path: str) -> int:
    """In bytes; nothing for settings, which are soon read."""
    return library.python.size(path) if path in library.python else 0


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_in_workers(
    inquiry: Analysis, on_progress: Callable[[int], None], count: int
) -> tuple[FileSummaries, dict[str, FileResult]]:
    import multiprocessing

    library = inquiry.library
    library.python.read_all()
    _ = library.import_index  # that each worker need not make it
    done = library.idle
    on_progress(done)
    sys.stdout.flush()
    sys.stderr.flush()
    forking = multiprocessing.get_context("fork")
    shares = FileSummaries(library, inquiry.before.shares, inquiry.changes)
    answers: dict[str, FileResult] = {}
    with ExitStack() as leaving:
        lines: list[Connection] = []
        parts = _parts(library.subjects(), count, partial(_size, library))
        for part in parts:
            ours, theirs = forking.Pipe()  # nameless, so nobody else can send what is unpickled
            worker = forking.Process(target=_work, args=(inquiry, part, theirs), daemon=True)
            worker.start()
            theirs.close()
            leaving.callback(worker.join)
            leaving.callback(worker.terminate)
            lines.append(ours)
        for line, part in zip(lines, parts, strict=True):
            shares.take(*line.recv())
            done += len(part)
            on_progress(done)
        shares.add_launchers()
        for line in lines:
            line.send((shares.by_path, shares.anew))
        others = shares.by_path.keys() - library.subjects()
        for line in lines:
            answers.update(line.recv())
        answers.update(analyze_files(inquiry, shares, sorted(others)))
    return shares, answers


def _parts(paths: Sequence[str], count: int, size: Callable[[str], int]) -> list[list[str]]:
    """`paths` in `count` runs of about the same size: neighbours read the same files."""
    parts: list[list[str]] = [[]]
    share, filled = sum(map(size, paths)) / count, 0
    for path in paths:
        if filled >= share * len(parts) and len(parts) < count:
            parts.append([])
        parts[-1].append(path)
        filled += size(path)
    return parts


def _work(inquiry: Analysis, paths: Sequence[str], line: Connection) -> None:
    """What one worker does: the shares of `paths`, and, once all others are known, the answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears it too, and ends this one
    shares = FileSummaries(inquiry.library, inquiry.before.shares, inquiry.changes)
    # What fails here fails again, and is told, where the first process does it all.
    with suppress(Exception):
        for path in paths:
            shares.add(path)
        line.send((shares.by_path, shares.anew))
        shares.take(*line.recv())
        line.send(analyze_files(inquiry, shares, paths))

"""Runs an analysis in this process, or in one process per core if there is much to read."""

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

# Work of less than about 4 seconds is not worth another process, since workers read some files twice.
_LEAST_BYTES = 6_000_000
_MOST_WORKERS = 4


def run_analysis(
    analysis: Analysis, on_progress: Callable[[int], None], *, alone: bool = False, least_bytes: int = _LEAST_BYTES
) -> tuple[FileSummaries, dict[str, FileResult]]:
    """Return the summaries and results of all files. `on_progress` gets the number of files done so far.

    Set `alone` if the caller needs the launches in the summaries: only the process that read them has them.
    """
    size = sum(_size(analysis.database, path) for path in _paths_to_summarize(analysis))
    count = min(_cores(), _MOST_WORKERS, size // least_bytes)
    if count > 1 and not alone and sys.platform == "linux":
        try:
            return _run_in_workers(analysis, on_progress, count)
        except (OSError, EOFError):
            # A worker was killed or failed. If this process fails too, it reports its own error.
            pass
    summaries = summarize_files(analysis.database, analysis.before.summaries, analysis.changes, on_progress)
    return summaries, analyze_files(analysis, summaries, summaries.by_path)


def _paths_to_summarize(analysis: Analysis) -> list[str]:
    """Return the files whose summaries certainly have to be computed."""
    kept = analysis.before.summaries.keys() - analysis.changes.paths
    return [path for path in analysis.database.subjects() if path not in kept]


def _size(database: Database, path: str) -> int:
    """Return the size in bytes; 0 for settings, which are read quickly."""
    return database.python.size(path) if path in database.python else 0


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_in_workers(
    analysis: Analysis, on_progress: Callable[[int], None], count: int
) -> tuple[FileSummaries, dict[str, FileResult]]:
    import multiprocessing

    database = analysis.database
    database.python.read_all()
    _ = database.import_index  # built before the workers fork
    done = database.idle
    on_progress(done)
    sys.stdout.flush()
    sys.stderr.flush()
    forking = multiprocessing.get_context("fork")
    summaries = FileSummaries(database, analysis.before.summaries, analysis.changes)
    file_results: dict[str, FileResult] = {}
    with ExitStack() as leaving:
        lines: list[Connection] = []
        parts = _parts(database.subjects(), count, partial(_size, database))
        for part in parts:
            ours, theirs = forking.Pipe()  # nameless, so no other process can send data to be unpickled
            worker = forking.Process(target=_work, args=(analysis, part, theirs), daemon=True)
            worker.start()
            theirs.close()
            leaving.callback(worker.join)
            leaving.callback(worker.terminate)
            lines.append(ours)
        for line, part in zip(lines, parts, strict=True):
            summaries.merge(*line.recv())
            done += len(part)
            on_progress(done)
        summaries.add_launchers()
        for line in lines:
            line.send((summaries.by_path, summaries.recomputed))
        others = summaries.by_path.keys() - database.subjects()
        for line in lines:
            file_results.update(line.recv())
        file_results.update(analyze_files(analysis, summaries, sorted(others)))
    return summaries, file_results


def _parts(paths: Sequence[str], count: int, size: Callable[[str], int]) -> list[list[str]]:
    """Return `paths` in `count` runs of about the same size. Neighbouring files read the same other files."""
    parts: list[list[str]] = [[]]
    share, filled = sum(map(size, paths)) / count, 0
    for path in paths:
        if filled >= share * len(parts) and len(parts) < count:
            parts.append([])
        parts[-1].append(path)
        filled += size(path)
    return parts


def _work(analysis: Analysis, paths: Sequence[str], line: Connection) -> None:
    """Run one worker: summarize `paths`, exchange summaries with the others, then analyse `paths`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process receives it too, and ends this one
    summaries = FileSummaries(analysis.database, analysis.before.summaries, analysis.changes)
    # An error here happens again in the first process, which then runs alone and reports it.
    with suppress(Exception):
        for path in paths:
            summaries.add(path)
        line.send((summaries.by_path, summaries.recomputed))
        summaries.merge(*line.recv())
        line.send(analyze_files(analysis, summaries, paths))

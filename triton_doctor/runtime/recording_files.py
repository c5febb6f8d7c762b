"""Files of recordings to Recordings, one a process. A damaged part never costs the others."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.regular_files import read_named_file, read_regular_file
from triton_doctor.runtime.decoding import DamagedError, Shared, decode_line, is_damaged_header
from triton_doctor.runtime.event import Header, LaunchesEvent, MemoryEvent, WarningEvent
from triton_doctor.runtime.kept_runs import reading
from triton_doctor.runtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterable

# The recording of a run of weeks; to read one takes about ten times its size of memory.
LIMIT_BYTES = 1 << 30
HINT = "name a file that `run -o` wrote"
NO_HEADER = "has no header before it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecordings:
    """What could be read: `processes`, in the order of the files, and why a file could not, one error a file."""

    processes: tuple[Recording, ...]
    errors: tuple[DoctorError, ...]


def read_recordings(paths: Iterable[str | Path]) -> ReadRecordings:
    """Read the recordings in `paths`, files or folders of `*.jsonl`; errors are returned, by file."""
    processes: list[Recording] = []
    errors: list[DoctorError] = []
    shared: Shared = {}
    for path in map(Path, paths):
        with reading(path):
            try:
                files = list_files(path)
            except DoctorError as error:
                errors.append(error)
                continue
            for file in files:
                try:
                    processes += read_file(file, shared)
                except DoctorError as error:
                    errors.append(error)
    return ReadRecordings(processes=tuple(processes), errors=tuple(errors))


def list_files(path: Path) -> list[Path]:
    """Return the recordings in the folder `path`, or `path` itself if it is a file. Raises DoctorError."""
    try:
        found = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        # Nobody may ever write into a pipe that lies in a folder.
        found = [file for file in found if file == path or not file.is_fifo()]
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from error
    if not found:
        raise DoctorError(f"no recording in {path}", hint="`triton-doctor run -o FOLDER` writes *.jsonl there")
    return found


def read_file(path: Path, shared: Shared | None = None) -> list[Recording]:
    """Read the recordings in one file, which may hold several processes. Raises DoctorError.

    Equal parts of compiles are stored once in `shared`, also across files. An incomplete last line is skipped with
    a `torn` warning, other invalid lines with one `damaged` warning.
    """
    processes: list[Recording] = []
    launches: list[LaunchesEvent] = []
    damaged: list[tuple[int, str]] = []
    headless = True
    shared = {} if shared is None else shared
    lines = read_text(path).split("\n")
    last = max((number for number, line in enumerate(lines, 1) if line.strip()), default=0)
    if not last:
        raise DoctorError(f"{path} is empty: no recording", hint=HINT)
    for number, line in enumerate(lines[:last], 1):
        if not line.strip():
            continue
        try:
            value = decode_line(line, shared)
        except DamagedError as error:
            if error.torn and not headless and (number == last or is_damaged_header(lines[number])):
                message = f"the last line of {path.name} is torn: the program ended while it was written"
                processes[-1].events.append(WarningEvent(kind="torn", message=message, at_ns=_at_ns(processes[-1])))
                continue
            headless = headless or is_damaged_header(line)
            damaged.append((number, str(error)))
            continue
        except DoctorError as error:
            raise DoctorError(f"{path}: {error.message}", hint=error.hint) from None
        if isinstance(value, Header):
            _add_last(processes, launches)
            processes.append(Recording(headers=[value]))
            headless = False
        elif value is not None and headless:
            damaged.append((number, NO_HEADER))
        elif isinstance(value, LaunchesEvent):
            launches[:] = [value]
        elif isinstance(value, MemoryEvent):
            processes[-1].before.append(value.as_compile())
        elif value is not None:
            processes[-1].events.append(value)
    if not processes:
        raise _no_recording(path, damaged)
    _add_last(processes, launches)
    if damaged:
        processes[0].events.append(_warn_of_damage(path, damaged, processes[0]))
    return processes


def read_text(path: Path) -> str:
    """Read the text of a file or pipe, compressed by gzip or not. Raises DoctorError, also for a device."""
    try:
        data = read_named_file(path, LIMIT_BYTES) if path.is_fifo() else read_regular_file(path, LIMIT_BYTES)
        if data.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(LIMIT_BYTES)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise cannot_read(path, error if isinstance(error, OSError | ValueError) else OSError(str(error))) from error
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")


def cannot_read(path: Path, error: OSError | ValueError) -> DoctorError:
    """Return the error for a `path` that cannot be read or is invalid."""
    reason = reason_of(error) if isinstance(error, OSError) else str(error)
    return DoctorError(f"cannot read {path}: {reason}", hint=HINT)


def _no_recording(path: Path, damaged: list[tuple[int, str]]) -> DoctorError:
    if all(reason == NO_HEADER for _, reason in damaged):
        return DoctorError(f"{path} is not a recording: it has no header", hint=HINT)
    number, reason = damaged[0]
    return DoctorError(f"{path} is not a recording: line {number} {reason}", hint=HINT)


def _warn_of_damage(path: Path, damaged: list[tuple[int, str]], process: Recording) -> WarningEvent:
    number, reason = damaged[0]
    if len(damaged) == 1:
        message = f"line {number} of {path.name} is left out: it {reason}"
    else:
        message = f"{len(damaged):,} damaged lines of {path.name} are left out; the first, line {number}, {reason}"
    return WarningEvent(kind="damaged", message=message, at_ns=_at_ns(process))


def _add_last(processes: list[Recording], launches: list[LaunchesEvent]) -> None:
    """Append the final launch counts to the last process, and clear them."""
    if processes:
        processes[-1].events.extend(launches)
    launches.clear()


def _at_ns(process: Recording) -> int:
    return process.events[-1].at_ns if process.events else 0

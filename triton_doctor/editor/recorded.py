"""Recordings of a project to what they saw of a kernel and of its parameters, in words for a hover or a lens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.evidence.kernel_matching import owners_of
from triton_doctor.evidence.recorded_kernels import RecordedKernel, is_dry, read_seen
from triton_doctor.phrases import plural
from triton_doctor.report.recording.wording import seconds
from triton_doctor.runtime.recording_files import read_recordings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.evidence.recorded_kernels import Price, Process
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.runtime.key_changes import KeyChange
    from triton_doctor.settings import Settings
    from triton_doctor.static.python.module import Kernel

FOLDER = ".triton_doctor"
_VALUES_SHOWN = 6
# A recording larger than this is not read while somebody types.
MOST_BYTES = 64 << 20


def find_recordings(settings: Settings, root: Path) -> tuple[Path, ...]:
    """Return the recordings that `settings` name, else the newest in `.triton_doctor` of `root`, else none."""
    if settings.recordings:
        return tuple(settings.root / named for named in settings.recordings if (settings.root / named).exists())
    try:
        files = [file for file in (root / FOLDER).glob("*.jsonl") if file.is_file()]
        return tuple(sorted(files, key=lambda file: file.stat().st_mtime_ns)[-1:])
    except OSError:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRuns:
    """What the recordings in `files` saw; nothing where there are none, or none can be read."""

    files: tuple[Path, ...] = ()
    seen: Mapping[KernelName, tuple[Process, ...]]
    dry: bool = False

    def of(self, kernel: Kernel, named_alike: Sequence[Kernel], cwd: Path) -> RecordedKernel | None:
        """Return what was recorded of `kernel`; `named_alike` are the known kernels of the project with its name."""
        processes: list[Process] = []
        for name, those in self.seen.items():
            if name.name != kernel.name:
                continue
            parameters = RecordedKernel(processes=those).parameters
            owners = owners_of(name, parameters, named_alike, cwd)
            if len(owners) == 1 and owners[0].key == kernel.key:
                processes += those
        return RecordedKernel(processes=tuple(processes)) if processes else None

    @property
    def name(self) -> str:
        """Return the file names: `train.jsonl`, or `train.jsonl, dry`."""
        names = ", ".join(file.name for file in self.files)
        return f"{names}, dry" if self.dry else names


def read_runs(files: Iterable[Path]) -> RecordedRuns:
    """Read what the recordings in `files` saw; unreadable and very large ones are left out."""
    small = tuple(file for file in files if _size(file) <= MOST_BYTES)
    try:
        reading = read_recordings(small)
    except (DoctorError, OSError):
        return RecordedRuns(seen={})
    if not reading.processes:
        return RecordedRuns(seen={})
    return RecordedRuns(
        files=small,
        seen=read_seen(reading.processes),
        dry=all(map(is_dry, reading.processes)),
    )


def _size(file: Path) -> int:
    """Return the size of a recording in bytes; that of a folder is the sum of its recordings."""
    try:
        if file.is_dir():
            return sum(path.stat().st_size for path in file.glob("*.jsonl"))
        return file.stat().st_size
    except OSError:
        return MOST_BYTES + 1


def format_parameter(seen: RecordedKernel, name: str) -> str | None:
    """Format the recorded values of a parameter:

    `40 values (17, 18, ...): 40 compiled, 1.6 s`; None if there are none.
    """
    values = seen.constexpr_values(name) or seen.key_values(name)
    if not values:
        return None
    shown = ", ".join(map(repr, values[:_VALUES_SHOWN])) + (", ..." if len(values) > _VALUES_SHOWN else "")
    text = f"{plural(len(values), 'value')} ({shown})"

    def concerns(change: KeyChange) -> bool:
        return change.name == name

    price = format_price(seen.price(concerns))
    return f"{text}: {price} for another value" if price else text


def format_kernel(seen: RecordedKernel) -> str:
    """Format the recorded compiles of a kernel: `40 compiled, 2 rounds of tuning, 1.6 s in 12,000 launches`."""
    events = [*(event for process in seen.processes for event in process.compiles)]
    rounds = [*(tuning for process in seen.processes for tuning in process.tunings)]
    price = format_price(seen.price_of([*events, *rounds])) or "nothing compiled"
    return f"{price} in {plural(seen.launches, 'launch', 'launches')}" if seen.launches else price


def format_price(price: Price) -> str:
    """Format counts and time: `40 compiled, 2 from disk, 1.6 s`; empty if there was nothing."""
    parts = [
        f"{count:,} {word}"
        for count, word in (
            (price.compiled, "compiled"),
            (price.from_disk, "from disk"),
            (price.rounds, "rounds of tuning" if price.rounds > 1 else "round of tuning"),
        )
        if count
    ]
    if parts and price.waited_us:
        parts.append(seconds(price.waited_us))
    return ", ".join(parts)

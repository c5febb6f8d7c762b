"""Each compile as it happens: what processes append to their recordings, read from outside and told in a line."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.cause_wording import describe_recompile
from triton_doctor.runtime.causes import History
from triton_doctor.runtime.decoding import decode_line
from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent, MemoryEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.runtime.causes import Recompile


class Follower:
    """Reads the events appended to the recordings of a run since the last call."""

    def __init__(self) -> None:
        self._read: defaultdict[str, int] = defaultdict(int)
        self._histories: defaultdict[tuple[object, ...], History] = defaultdict(History)

    def describe_new(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield a line for each compile and each autotuning appended to `paths` since the last call."""
        for path in paths:
            for line in self._new_lines(path):
                try:
                    event = decode_line(line)
                except (ValueError, DoctorError):
                    continue
                if isinstance(event, MemoryEvent):
                    self._histories[path, CompileEvent, event.kernel].remember(event.as_compile())
                if isinstance(event, CompileEvent | AutotuneEvent):
                    history = self._histories[path, type(event), event.kernel]
                    yield describe_event(history.explain(event))
                    history.remember(event)

    def _new_lines(self, path: str) -> list[str]:
        try:
            with Path(path).open("rb") as recording:
                recording.seek(self._read[path])
                new = recording.read()
        except OSError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._read[path] += len(whole)
        return whole.decode(errors="replace").splitlines()


def describe_event(recompile: Recompile) -> str:
    """Describe a compile or autotuning: `rank 0: compiled scale in 39 ms at train.py:12: ...`."""
    event = recompile.event
    rank = "" if event.rank is None else f"rank {event.rank}: "
    site = "" if event.launch_site is None else f" at {event.launch_site.path}:{event.launch_site.line}"
    if isinstance(event, AutotuneEvent):
        took = "" if event.duration_us is None else f" in {event.duration_us / 1000:,.0f} ms"
        verb = "took from disk the tuning of" if event.cached else "tuned"
        done = f"{verb} `{event.kernel.name}`{took}, {len(event.timings_ms)} configs"
    else:
        verb = "compiled" if event.tier == COMPILED else "loaded from disk"
        took = "" if event.dry else f" in {event.duration_us / 1000:,.1f} ms"
        done = f"{verb} `{event.kernel.name}`{took}"
    return f"{rank}{done}{site}: {describe_recompile(recompile)}"

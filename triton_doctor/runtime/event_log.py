"""The events of a recording in memory: the latest as they are, the others compressed, some 100 bytes a compile."""

from __future__ import annotations

import pickle
import threading
import zlib
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.runtime.event import Event

# Events that are compressed together, and those that stay as they are at least.
PACKED = 512


class EventLog(Sequence["Event"]):
    """Events in order of time, which grow at their end. An event that was compressed comes back as an equal one."""

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._latest: list[Event] = []
        self._lock = threading.Lock()

    def append(self, event: Event) -> None:
        """Add `event`; may be called from any thread."""
        self._latest.append(event)
        # Where another thread compresses, this one need not wait for it.
        if len(self._latest) >= 2 * PACKED and self._lock.acquire(blocking=False):
            try:
                if len(self._latest) >= 2 * PACKED:
                    self._packed.append(zlib.compress(pickle.dumps(self._latest[:PACKED]), 1))
                    del self._latest[:PACKED]
            finally:
                self._lock.release()

    def extend(self, events: Iterable[Event]) -> None:
        """Add `events`."""
        for event in events:
            self.append(event)

    def clear(self) -> None:
        """Remove all events, in a forked child; replaces the lock, which another thread may have held."""
        self.__init__()  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self._packed) * PACKED + len(self._latest)

    def __iter__(self) -> Iterator[Event]:
        with self._lock:
            packed, latest = self._packed[:], self._latest[:]
        for part in packed:
            yield from pickle.loads(zlib.decompress(part))
        yield from latest

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        if isinstance(index, slice):
            return list(self)[index]
        if index < 0 and -index <= len(self._latest):
            return self._latest[index]
        return next(islice(self, range(len(self))[index], None))

"""The last scan, kept in the process, for what scans again and again: an editor's server, `check --watch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.cache.scan_cache import NO_CACHED_SCAN, CachedScan
from triton_doctor.static.project.database.kept_modules import KeptModules

if TYPE_CHECKING:
    from triton_doctor.static.project.cache.folder import CacheStore
    from triton_doctor.static.project.cache.scan_cache import ScanCache

# What an edit makes an editor read is what it read after the edit before, and some more.
_MOST_MODULES = 256


class ScanMemory:
    """Stands in for a `CacheStore`: the last scan of this process and, before the first, what `store` has on disk."""

    def __init__(self, store: CacheStore | None = None) -> None:
        """Nothing is read yet."""
        self._store = store
        self._kept: CachedScan | None = None
        self._unsaved: ScanCache | None = None
        self._modules = KeptModules(_MOST_MODULES)

    def read(self) -> CachedScan:
        """What the last scan left; nothing where there was none."""
        if self._kept is None:
            left = self._store.read() if self._store is not None else NO_CACHED_SCAN
            self._kept = left._replace(modules=self._modules) if left is not NO_CACHED_SCAN else left
        return self._kept

    def write(self, memory: ScanCache) -> None:
        """Keep `memory` for the next scan of this process."""
        self._unsaved = memory
        self._kept = CachedScan(
            seen=memory.seen,
            directives=memory.known.directives,
            checks=memory.outcome.checks,
            results=memory.outcome.results(),
            uses=memory.uses,
            recall=lambda: memory,
            modules=self._modules,
        )

    def for_store(self, store: CacheStore) -> ScanMemory:
        """This memory, if it is of the same way of asking as `store`; else one that begins with what `store` has."""
        return self if self._store is not None and self._store.is_like(store) else ScanMemory(store)

    def save(self) -> None:
        """Leave what was kept on disk, for the next process."""
        if self._store is not None and self._unsaved is not None:
            self._store.write(self._unsaved)
            self._unsaved = None


class ReadOnlyMemory(ScanMemory):
    """Reads from `memory`, and keeps nothing: for a scan of texts that may never come to be."""

    def __init__(self, memory: ScanMemory) -> None:
        super().__init__()
        self._memory = memory

    def read(self) -> CachedScan:
        """What the last scan of `memory` left."""
        return self._memory.read()

    def write(self, memory: ScanCache) -> None:
        """Keep nothing."""

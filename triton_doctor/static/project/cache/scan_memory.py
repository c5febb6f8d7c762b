"""The last scan, kept in memory by processes that scan repeatedly: an editor's server, `check --watch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.cache.scan_cache import NO_CACHED_SCAN, CachedScan
from triton_doctor.static.project.database.database import KeptModules

if TYPE_CHECKING:
    from triton_doctor.static.project.cache.scan_cache import ScanCache
    from triton_doctor.static.project.cache.store import CacheStore

# After an edit, an editor reads mostly the modules of the previous edit.
_MOST_MODULES = 256


class ScanMemory:
    """A `CacheStore` in memory: the last scan of this process and, before the first, what `store` has on disk."""

    def __init__(self, store: CacheStore | None = None) -> None:
        """Start empty; nothing is read from disk yet."""
        self._store = store
        self._kept: CachedScan | None = None
        self._unsaved: ScanCache | None = None
        self._modules = KeptModules(_MOST_MODULES)

    def read(self) -> CachedScan:
        """Return the last scan; NO_CACHED_SCAN if there is none."""
        if self._kept is None:
            left = self._store.read() if self._store is not None else NO_CACHED_SCAN
            self._kept = left._replace(modules=self._modules) if left is not NO_CACHED_SCAN else left
        return self._kept

    def write(self, scan_cache: ScanCache) -> None:
        """Keep `scan_cache` for the next scan of this process."""
        self._unsaved = scan_cache
        self._kept = CachedScan(
            seen=scan_cache.seen,
            directives=scan_cache.known.directives,
            checks=scan_cache.scan_result.checks,
            results=scan_cache.scan_result.results(),
            names=scan_cache.names,
            load_rest=lambda: scan_cache,
            modules=self._modules,
        )

    def for_store(self, store: CacheStore) -> ScanMemory:
        """Return this memory if it is for the same paths and settings as `store`; else a new one based on `store`."""
        return self if self._store is not None and self._store.is_like(store) else ScanMemory(store)

    def save(self) -> None:
        """Write the last scan to disk, for the next process."""
        if self._store is not None and self._unsaved is not None:
            self._store.write(self._unsaved)
            self._unsaved = None


class ReadOnlyMemory(ScanMemory):
    """Reads from `memory` and stores nothing: for scans of texts that may never be saved."""

    def __init__(self, scan_cache: ScanMemory) -> None:
        super().__init__()
        self._memory = scan_cache

    def read(self) -> CachedScan:
        """Return the last scan of `memory`."""
        return self._memory.read()

    def write(self, scan_cache: ScanCache) -> None:
        """Store nothing."""

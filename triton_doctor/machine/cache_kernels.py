"""Cache entries to CachedKernel: what a kernel has left in the cache, all its variants together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.machine.cache_entries import CacheEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedKernel:
    """A kernel's variants for one target, by its name alone: two kernels of one name count as one."""

    kernel: str
    target: str | None
    variants: int
    size_bytes: int
    newest_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheContent:
    """All that lies in a cache folder. `others` counts entries that are no kernels: launchers, and half entries."""

    kernels: tuple[CachedKernel, ...]
    others: int
    size_bytes: int

    @property
    def variants(self) -> int:
        """How many kernels, each compiled one way, there are."""
        return sum(kernel.variants for kernel in self.kernels)


def sum_up(entries: Iterable[CacheEntry]) -> CacheContent:
    """`entries` by kernel and target, the kernel with the most variants first."""
    groups: dict[tuple[str, str | None], list[CacheEntry]] = {}
    others = size = 0
    for entry in entries:
        size += entry.size_bytes
        if entry.kernel is None:
            others += 1
        else:
            groups.setdefault((entry.kernel, entry.target), []).append(entry)
    kernels = [
        CachedKernel(
            kernel=kernel,
            target=target,
            variants=len(group),
            size_bytes=sum(entry.size_bytes for entry in group),
            newest_at=max(entry.written_at for entry in group),
        )
        for (kernel, target), group in groups.items()
    ]
    kernels.sort(key=lambda kernel: (-kernel.variants, -kernel.size_bytes, kernel.kernel, kernel.target or ""))
    return CacheContent(kernels=tuple(kernels), others=others, size_bytes=size)

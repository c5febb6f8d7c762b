"""One variant through Triton's own launch path up to the launch: compiled, or only looked up in the cache."""

from __future__ import annotations

import base64
import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.prewarm.launch_stand_ins import launch_options, make_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant


class MissedError(Exception):
    """The cache does not hold the variant that was looked up."""


@dataclass(slots=True)
class CacheQuery:
    """A lookup of Triton in its cache: the hash of the key, the folder of the entry, and whether it exists."""

    hash: str = ""
    entry: str = ""
    found: bool = False


def run_to_launch(fn: Any, variant: KernelVariant, find_kernel: Callable[[str, str, str], Any]) -> Any:
    """Bind and compile `variant` of `fn` by Triton, keep it in memory, and return the compiled kernel.

    Raises UnkeptError if the recording lacks a value, and whatever compiling raises.
    """
    names = [param.name for param in fn.params]
    arguments = make_arguments(variant, names, find_kernel)
    return fn.run(grid=(1,), warmup=True, **arguments, **launch_options(variant))


@contextlib.contextmanager
def query_cache(*, lookup_only: bool) -> Iterator[CacheQuery]:
    """Record which cache entry the compile inside requests; with `lookup_only`, a miss raises MissedError.

    Only for a process of our own: it replaces the function by which `compile` finds its cache folder.
    """
    from triton.compiler import compiler

    query = CacheQuery()
    make_manager = compiler.get_cache_manager

    def get_cache_manager(key: str) -> Any:
        manager = make_manager(key)
        if query.hash:
            return manager
        query.hash = key
        query.entry = _entry_folder(key, manager)
        get_group = manager.get_group

        def look_up(filename: str) -> Any:
            group = get_group(filename)
            query.found = bool(group) and filename in group
            if lookup_only and not query.found:
                raise MissedError(key)
            return group

        manager.get_group = look_up
        return manager

    compiler.get_cache_manager = get_cache_manager
    try:
        yield query
    finally:
        compiler.get_cache_manager = make_manager


def _entry_folder(key: str, manager: Any) -> str:
    folder = getattr(manager, "cache_dir", None)
    if folder:
        return Path(folder).name
    # A manager that keeps no folders (triton 3.9 cache.py, _base32).
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def forget_kernels(fn: Any) -> None:
    """Clear the kernels of `fn` in memory, so that each variant is looked up in the cache folder."""
    for name in ("device_caches", "cache"):
        kept = getattr(fn, name, None)
        if isinstance(kept, dict):
            kept.clear()
    if hasattr(fn, "binder"):
        # Until 3.2 it was made for one backend, and kept beside the kernels.
        fn.binder = None

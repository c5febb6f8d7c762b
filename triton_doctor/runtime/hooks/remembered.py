"""What a kernel object already holds in memory, as the events that nobody was there to see.

A guard is set after the warm-up: without these it could say that a kernel compiled, and not what changed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from triton_doctor.runtime.event import COMPILED, CompileEvent
from triton_doctor.runtime.hooks.constants import encode_constants
from triton_doctor.runtime.hooks.describe import compile_key, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.event import Scalar

# A key in memory ends with what the launch wrote, as a dict (triton 3.9 jit.py:611; closed by `)` in 3.2).
WRITTEN = re.compile(r"(\{[^{}]*\})\)?\Z")
# Each recording of a test suite asks for all that the tests before it compiled: a kernel is described once.
_described: WeakKeyDictionary[Any, CompileEvent] = WeakKeyDictionary()


def read_memory(fn: Any, event: CompileEvent) -> Iterator[CompileEvent]:
    """Yield the compiles whose kernels `fn`, the JITFunction of `event`, keeps in memory, oldest first.

    Their times, tiers, launch sites and plain integers are unknown.
    """
    from triton.compiler.compiler import CompiledKernel

    caches = getattr(fn, "device_caches", None)
    for device, cache in list((getattr(fn, "cache", {}) if caches is None else caches).items()):
        for key, kernel in list((cache[0] if isinstance(cache, tuple) else cache).items()):
            # What compiles in the background has a placeholder there.
            if isinstance(kernel, CompiledKernel):
                if kernel not in _described:
                    _described[kernel] = _event(event, str(key), kernel, device)
                yield _described[kernel]


def _event(event: CompileEvent, cache_key: str, kernel: Any, device: int) -> CompileEvent:
    written = _written(cache_key)
    now = event.key
    options = tuple(_options(now.options, written or {}, kernel.metadata))
    key = compile_key(kernel.src, options, kernel.metadata.target, written or {})
    return replace(
        event,
        key=replace(key, spelled=now.spelled if written is None else key.spelled),
        tier=COMPILED,
        device=device,
        launch_site=None,
        stages_us=(),
        process_us=0,
        values=(),
        tuning=False,
        at_ns=0,
        exact=encode_constants(kernel.src),
    )


def _written(cache_key: str) -> dict[str, Any] | None:
    """Return the options that the launch passed, read from the cache key; None if they cannot be parsed."""
    found = WRITTEN.search(cache_key)
    try:
        return dict(ast.literal_eval(found[1])) if found else None
    except (ValueError, SyntaxError):
        return None


def _options(
    now: tuple[tuple[str, Scalar], ...], written: dict[str, Any], metadata: Any
) -> Iterator[tuple[str, Scalar]]:
    """Yield the options of the earlier compile, taken from its metadata where JSON preserves their type."""
    for name, value in now:
        was = written.get(name, getattr(metadata, name, value))
        yield name, scalar(was) if was is None or type(was) in (bool, int, float, str) else value

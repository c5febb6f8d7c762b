"""Seeing each compile of triton 3.4 and newer, through its listener.

The listener tells what the two hooks of JITFunction tell and more: the tier, the stages, and compiles that no launch
asked for. Those hooks stay alone on purpose: as soon as one is set, a launch serializes its constants, and raises for
an enum, bytes, or any object among them (triton 3.9 jit.py:379, 661).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.beginning import watch_beginning
from triton_doctor.runtime.hooks.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.hooks.observer import Observer


def watch_compiles(observer: Observer) -> Iterator[Slot]:
    """`observer` learns of each compile from now on."""
    from triton import knobs

    yield watch_listener(knobs.compilation, observer)
    yield watch_beginning(observer)
    yield from watch_async(observer)


def watch_listener(compilation: Any, observer: Observer) -> Slot:
    """One slot, not a chain (triton 3.9 knobs.py): who was there is called after us, and returns what he returns."""
    slot = Slot(compilation, "listener")
    before = slot.before

    def listener(**told: Any) -> Any:
        try:
            hear(told)
        finally:
            result = None if before is None else before(**told)
        return result

    def hear(told: dict[str, Any]) -> None:
        try:
            # Its clock runs from the beginning of `compile`, so from before what is timed apart.
            src, compiled, stages_us = told["src"], not told["cache_hit"], _stages(told, observer.begun.apart_us)
        except Exception:
            observer.fault("listening to a compile")
        else:
            observer.built(src, compiled=compiled, stages_us=stages_us)

    slot.fill(listener)
    return slot


def _stages(told: dict[str, Any], apart_us: int) -> list[tuple[str, int]]:
    times = told["times"]
    first_us = max(0, times.ir_initialization - apart_us)
    if told["cache_hit"]:
        return [("load", first_us)]
    return [("ir", first_us), *times.lowering_stages, ("store", times.store_results)]


def watch_async(observer: Observer) -> Iterator[Slot]:
    """AsyncCompileMode, since 3.5, compiles on other threads: the launch is read where it submits."""
    try:
        from triton.runtime._async_compile import AsyncCompileMode
    except ImportError:
        return
    slot = Slot(AsyncCompileMode, "submit")
    before = slot.before

    def submit(self: Any, *args: Any, **kwargs: Any) -> Any:
        observer.submitted()
        return before(self, *args, **kwargs)

    slot.fill(submit)
    yield slot

"""Seeing each compile of triton 3.4 and newer, through its listener.

The listener tells what the two hooks of JITFunction tell and more: the tier, the stages, and compiles that no launch
asked for. Those hooks stay alone on purpose: as soon as one is set, a launch serializes its constants, and raises for
an enum, bytes, or any object among them (triton 3.9 jit.py:379, 661).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.event import LONG_US
from triton_doctor.runtime.hooks.beginning import watch_beginning
from triton_doctor.runtime.hooks.slots import KnobSlot, Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from triton_doctor.runtime.hooks.observer import Observer
    from triton_doctor.runtime.hooks.slots import Patch


def watch_compiles(observer: Observer) -> Iterator[Patch]:
    """Report each compile to `observer` from now on."""
    yield watch_listener(observer)
    yield watch_beginning(observer)
    yield from watch_async(observer)


def watch_listener(observer: Observer) -> KnobSlot:
    """Observe calls of Triton's compile listener; the program's own is still called (triton 3.9 knobs.py:421)."""
    from triton import knobs
    from triton.compiler import compiler

    slot = KnobSlot(lambda: knobs.compilation, "listener", reader=compiler)

    def combine(theirs: Any) -> Callable[..., Any]:
        def listener(**fields: Any) -> Any:
            try:
                hear(fields)
            finally:
                # As triton asks it (triton 3.9 compiler.py:228, 267).
                result = theirs(**fields) if theirs else None
            return result

        return listener

    def hear(fields: dict[str, Any]) -> None:
        try:
            # Its clock runs from the beginning of `compile`, so from before what is timed apart.
            src, compiled, stages_us = fields["src"], not fields["cache_hit"], _stages(fields, observer.begun.apart_us)
        except Exception:
            observer.fault("listening to a compile")
        else:
            sizes = _sizes(fields["metadata_group"]) if sum(us for _, us in stages_us) >= LONG_US else ()
            observer.built(src, compiled=compiled, stages_us=stages_us, sizes=sizes)

    slot.fill(combine)
    return slot


def _stages(fields: dict[str, Any], apart_us: int) -> list[tuple[str, int]]:
    times = fields["times"]
    first_us = max(0, times.ir_initialization - apart_us)
    if fields["cache_hit"]:
        return [("load", first_us)]
    return [("ir", first_us), *times.lowering_stages, ("store", times.store_results)]


def _sizes(files: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """Return the bytes of what each stage wrote, by its suffix (triton 3.9 compiler.py:259), in the order of stages."""
    sizes = [(Path(name).suffix.removeprefix("."), Path(path).stat().st_size) for name, path in files.items()]
    return tuple((stage, size) for stage, size in sizes if stage not in ("json", "source"))


def watch_async(observer: Observer) -> Iterator[Slot]:
    """Read the launch where AsyncCompileMode, since 3.5, submits its compile to another thread."""
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

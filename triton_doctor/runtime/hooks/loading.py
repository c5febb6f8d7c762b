"""Seeing modules come and go: what the first launch of a compiled kernel pays, and the unloading inside a capture.

The first launch loads the module, and has gcc build a launcher until Triton 3.6. Since 3.8 Triton unloads the module of
a kernel that is freed, which CUDA does not allow while a graph is captured (triton 3.9 testing.py:87).
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.event import ModuleEvent, UnloadEvent
from triton_doctor.runtime.hooks.failing import report_failure
from triton_doctor.runtime.hooks.frames import launch_site
from triton_doctor.runtime.hooks.process_state import is_capturing, rank
from triton_doctor.runtime.hooks.slots import Slot
from triton_doctor.runtime.live.activity import BUILDING, LOADING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.hooks.observer import Observer

read_attribute = object.__getattribute__


class Built(threading.local):
    """How long this thread has spent on launchers since its kernel began to load."""

    took_ns = 0


def watch_loading(observer: Observer) -> Iterator[Slot]:
    """Report each loaded module, and each module unloaded during a capture, to `observer`."""
    from triton.backends import backends
    from triton.compiler.compiler import CompiledKernel

    built = Built()
    for backend in backends.values():
        for launcher in _launchers(backend.driver):
            yield _watch_launcher(launcher, built, observer)
    yield _watch_handles(CompiledKernel, built, observer)
    if "__del__" in vars(CompiledKernel):
        yield _watch_unloading(CompiledKernel, observer)


def _launchers(driver: Any) -> list[Any]:
    """Return the launcher classes in the module of `driver`, which is not importable until 3.3 (backends.py:14)."""
    beside = getattr(driver.__init__, "__globals__", {})
    return [value for name, value in beside.items() if isinstance(value, type) and name.endswith("Launcher")]


def _watch_launcher(launcher: Any, built: Built, observer: Observer) -> Slot:
    slot = Slot(launcher, "__init__")
    before = slot.before

    @functools.wraps(before)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        started_ns = time.perf_counter_ns()
        _report_beginning(observer, BUILDING, args[0] if args else options.get("src"))
        try:
            before(self, *args, **options)
        finally:
            built.took_ns += time.perf_counter_ns() - started_ns
            observer.activities.end(BUILDING)

    slot.fill(__init__)
    return slot


def _watch_handles(kernel: Any, built: Built, observer: Observer) -> Slot:
    slot = Slot(kernel, "_init_handles")
    before = slot.before
    # Each launch comes here (triton 3.9 compiler.py:489), where Triton's own method returns at once if there is a
    # module (3.2 compiler.py:380): returning from here instead costs a launch nothing. Somebody else's is called.
    own = getattr(before, "__code__", None) is not None and before.__code__.co_filename == _file_of(kernel)

    def load(self: Any) -> Any:
        built.took_ns = 0
        started_ns = time.perf_counter_ns()
        _report_beginning(observer, LOADING, self.src)
        try:
            result = before(self)
        except Exception as error:
            report_failure(observer, self.src, "module", error, took_ns=time.perf_counter_ns() - started_ns)
            raise
        finally:
            observer.activities.end(LOADING)
        _report_loaded(observer, self.src, built.took_ns, time.perf_counter_ns() - started_ns)
        return result

    def _init_handles(self: Any) -> Any:
        if self.module is None:
            return load(self)
        return None if own else before(self)

    def _init_handles_until_34(self: Any) -> Any:
        # Triton reads attributes through a `__getattribute__` of its own there, which this goes around.
        if read_attribute(self, "module") is None:
            return load(self)
        return None if own else before(self)

    method = _init_handles_until_34 if "__getattribute__" in vars(kernel) else _init_handles
    slot.fill(method)
    return slot


def _watch_unloading(kernel: Any, observer: Observer) -> Slot:
    slot = Slot(kernel, "__del__")
    before = slot.before

    @functools.wraps(before)
    def __del__(self: Any) -> None:  # noqa: N807
        try:
            if self.module is not None and is_capturing():
                _report_unloaded(observer, self.src)
        except Exception:  # a kernel that was never whole, or an interpreter that ends
            pass
        before(self)

    slot.fill(__del__)
    return slot


def _file_of(kernel: type) -> str | None:
    return getattr(sys.modules.get(kernel.__module__), "__file__", None)


def _report_beginning(observer: Observer, what: str, src: Any) -> None:
    if observer.activities.are_watched:
        try:
            kernel = observer.name_of(getattr(src, "fn", src))
            observer.activities.begin(what, kernel, kernel.name, site=launch_site())
        except Exception:
            observer.fault("telling that a kernel is loaded")


def _report_loaded(observer: Observer, src: Any, launcher_ns: int, took_ns: int) -> None:
    try:
        event = ModuleEvent(
            kernel=observer.name_of(getattr(src, "fn", src)),
            launcher_us=launcher_ns // 1000,
            module_us=max(0, took_ns - launcher_ns) // 1000,
            thread=threading.get_native_id(),
            rank=rank(),
            at_ns=time.time_ns(),
        )
    except Exception:
        observer.fault("reading a module that was loaded")
    else:
        observer.emit(event)


def _report_unloaded(observer: Observer, src: Any) -> None:
    kernel = observer.name_of(getattr(src, "fn", src))
    thread = threading.get_native_id()
    observer.emit(UnloadEvent(kernel=kernel, thread=thread, rank=rank(), at_ns=time.time_ns()))

"""Seeing compiles that fail: Triton's listener hears only of those that succeed.

A compile can fail where its IR is made, in a stage of its backend, where Triton reads or writes its cache, and where
its module is loaded, which is where too much shared memory shows (triton 3.9 compiler.py:471).
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.event import FailureEvent
from triton_doctor.runtime.hooks.frames import read_stack
from triton_doctor.runtime.hooks.process_state import describe_error, rank
from triton_doctor.runtime.hooks.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.runtime.event import CompileEvent
    from triton_doctor.runtime.hooks.observer import Observer


def watch_failures(observer: Observer) -> Iterator[Slot]:
    """Report each failed compile to `observer` from now on; the program gets the original exception."""
    from triton.backends import backends
    from triton.compiler import compiler

    yield _watch_ir(compiler.ASTSource, observer)
    yield _watch_cache(compiler, observer)
    for backend in backends.values():
        if "add_stages" in vars(backend.compiler):
            yield _watch_stages(backend.compiler, observer)


def refused_launch(event: CompileEvent, error: BaseException) -> FailureEvent:
    """Return the event for a launch that a guard made fail with `error`, after its compile succeeded."""
    return FailureEvent(
        kernel=event.kernel,
        stage="launch",
        error=describe_error(error),
        duration_us=0,
        thread=event.thread,
        rank=event.rank,
        at_ns=time.time_ns(),
        launch_site=event.launch_site,
        tuning=event.tuning,
        refused=True,
    )


def report_failure(observer: Observer, src: Any, stage: str, error: Exception, *, took_ns: int | None = None) -> None:
    """Emit the event of a compile of `src` that failed at `stage`. `took_ns` None means: since the compile began."""
    try:
        begun = observer.begun
        if took_ns is None:
            took_ns = time.perf_counter_ns() - begun.started_ns if begun.started_ns else 0
        process_us = begun.apart_us
        begun.end()
        _, launch = read_stack()
        event = FailureEvent(
            kernel=observer.name_of(getattr(src, "fn", src)),
            stage=stage,
            error=describe_error(error),
            duration_us=took_ns // 1000,
            thread=threading.get_native_id(),
            rank=rank(),
            at_ns=time.time_ns(),
            launch_site=launch.site,
            process_us=process_us,
            tuning=launch.tuning,
        )
    except Exception:
        observer.fault("reading a compile that failed")
    else:
        observer.emit(event)


def _watch_ir(source: Any, observer: Observer) -> Slot:
    slot = Slot(source, "make_ir")
    before = slot.before

    def make_ir(self: Any, *args: Any, **options: Any) -> Any:
        observer.begun.source = self
        observer.activities.enter_stage("ir")
        try:
            return before(self, *args, **options)
        except Exception as error:
            report_failure(observer, self, "ir", error)
            raise

    slot.fill(make_ir)
    return slot


def _watch_cache(compiler: Any, observer: Observer) -> Slot:
    """Report failures of the cache manager, such as a full disk or an invalid file name."""
    slot = Slot(compiler, "get_cache_manager")
    before = slot.before

    @functools.wraps(before)
    def get_cache_manager(*args: Any, **options: Any) -> Any:
        src = sys._getframe(1).f_locals.get("src")
        if src is None:  # somebody else asks, or stands between
            return before(*args, **options)
        manager = _reporting(before, src, observer)(*args, **options)
        for name in ("get_group", "put", "put_group"):
            with contextlib.suppress(AttributeError):  # a manager of somebody else's may have no room for it
                setattr(manager, name, _reporting(getattr(manager, name), src, observer))
        return manager

    slot.fill(get_cache_manager)
    return slot


def _reporting(call: Callable[..., Any], src: Any, observer: Observer) -> Callable[..., Any]:
    @functools.wraps(call)
    def run(*args: Any, **options: Any) -> Any:
        try:
            return call(*args, **options)
        except Exception as error:
            report_failure(observer, src, "cache", error)
            raise

    return run


def _watch_stages(backend: Any, observer: Observer) -> Slot:
    slot = Slot(backend, "add_stages")
    before = slot.before

    def add_stages(self: Any, stages: dict[str, Any], *rest: Any, **options: Any) -> Any:
        result = before(self, stages, *rest, **options)
        for name, stage in list(stages.items()):
            stages[name] = _watched(name, stage, observer)
        return result

    slot.fill(add_stages)
    return slot


def _watched(name: str, stage: Callable[..., Any], observer: Observer) -> Callable[..., Any]:
    def run(module: Any, metadata: Any) -> Any:
        observer.activities.enter_stage(name)
        try:
            return stage(module, metadata)
        except Exception as error:
            report_failure(observer, observer.begun.source, name, error)
            raise

    return run

"""Seeing each compile of triton 3.2 and 3.3, which have no listener.

`compile` asks a source for its options first, has the backend add its stages only when nothing is on disk, and makes a
CompiledKernel last (triton 3.2 compiler.py:232, 270, 318): three methods of classes, so it matters neither who called
it nor whether a kernel was launched before.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.compiling import watch_first_compile
from triton_doctor.runtime.hooks.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.hooks.observer import Observer


class Compiling(threading.local):
    """The compile that this thread is in."""

    started_ns = 0
    stages: list[tuple[str, int]] | None = None


def watch_compiles(observer: Observer) -> Iterator[Slot]:
    """`observer` learns of each compile from now on."""
    from triton.backends import backends
    from triton.compiler import compiler

    now = Compiling()
    yield _watch_start(compiler.ASTSource, now)
    # After the start, so that it is called before: what it times apart is not in the compile's own time.
    yield watch_first_compile(observer)
    for backend in backends.values():
        if "add_stages" in vars(backend.compiler):
            yield _watch_stages(backend.compiler, now)
    yield _watch_end(compiler.CompiledKernel, now, observer)


def _watch_start(source: Any, now: Compiling) -> Slot:
    slot = Slot(source, "parse_options")
    before = slot.before

    def parse_options(self: Any) -> Any:
        now.started_ns, now.stages = time.perf_counter_ns(), None
        return before(self)

    slot.fill(parse_options)
    return slot


def _watch_stages(backend: Any, now: Compiling) -> Slot:
    slot = Slot(backend, "add_stages")
    before = slot.before

    def add_stages(self: Any, stages: dict[str, Any], *rest: Any, **options: Any) -> Any:
        result = before(self, stages, *rest, **options)
        done: list[tuple[str, int]] = []
        now.stages = done
        for name, stage in list(stages.items()):
            stages[name] = _timed(name, stage, done)
        return result

    slot.fill(add_stages)
    return slot


def _timed(name: str, stage: Any, done: list[tuple[str, int]]) -> Any:
    def run(module: Any, metadata: Any) -> Any:
        started = time.perf_counter_ns()
        result = stage(module, metadata)
        done.append((name, (time.perf_counter_ns() - started) // 1000))
        return result

    return run


def _watch_end(kernel: Any, now: Compiling, observer: Observer) -> Slot:
    slot = Slot(kernel, "__init__")
    before = slot.before

    def __init__(self: Any, src: Any, *rest: Any, **more: Any) -> None:  # noqa: N807
        before(self, src, *rest, **more)
        if not now.started_ns:
            return
        whole_us, stages = (time.perf_counter_ns() - now.started_ns) // 1000, now.stages
        now.started_ns, now.stages = 0, None
        if stages is None:
            observer.built(src, compiled=False, stages_us=[("load", whole_us)])
        else:
            rest_us = whole_us - sum(us for _, us in stages)
            observer.built(src, compiled=True, stages_us=[("ir", max(0, rest_us)), *stages])

    slot.fill(__init__)
    return slot

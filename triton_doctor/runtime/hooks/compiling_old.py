"""Seeing each compile of triton 3.2 and 3.3, which have no listener.

`compile` asks a source for its options first, has the backend add its stages only when nothing is on disk, and makes a
CompiledKernel last (triton 3.2 compiler.py:232, 270, 318): three methods of classes, so it matters neither who called
it nor whether a kernel was launched before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.beginning import watch_beginning
from triton_doctor.runtime.hooks.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.hooks.beginning import Begun
    from triton_doctor.runtime.hooks.observer import Observer


def watch_compiles(observer: Observer) -> Iterator[Slot]:
    """Report each compile to `observer` from now on."""
    from triton.backends import backends
    from triton.compiler import compiler

    yield watch_beginning(observer)
    for backend in backends.values():
        if "add_stages" in vars(backend.compiler):
            yield _watch_stages(backend.compiler, observer.begun)
    yield _watch_end(compiler.CompiledKernel, observer)


def _watch_stages(backend: Any, begun: Begun) -> Slot:
    slot = Slot(backend, "add_stages")
    before = slot.before

    def add_stages(self: Any, stages: dict[str, Any], *rest: Any, **options: Any) -> Any:
        result = before(self, stages, *rest, **options)
        done: list[tuple[str, int]] = []
        begun.stages = done
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


def _watch_end(kernel: Any, observer: Observer) -> Slot:
    slot = Slot(kernel, "__init__")
    before = slot.before

    def __init__(self: Any, src: Any, *rest: Any, **more: Any) -> None:  # noqa: N807
        before(self, src, *rest, **more)
        begun = observer.begun
        if not begun.started_ns:
            return
        whole_us, stages = (time.perf_counter_ns() - begun.started_ns) // 1000, begun.stages
        if stages is None:
            observer.built(src, compiled=False, stages_us=[("load", whole_us)])
        else:
            rest_us = whole_us - sum(us for _, us in stages)
            observer.built(src, compiled=True, stages_us=[("ir", max(0, rest_us)), *stages])

    slot.fill(__init__)
    return slot

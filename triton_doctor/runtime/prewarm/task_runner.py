"""Tasks through an executor: a window of them at a time, each outcome as it comes, whatever dies meanwhile."""

from __future__ import annotations

from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.runtime.prewarm.tasks import FAILED, Outcome
from triton_doctor.runtime.prewarm.worker import describe_error, run_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant
    from triton_doctor.runtime.prewarm.tasks import Task

CRASHED = "the compiler ended its process"


def run_tasks(
    tasks: Sequence[Task],
    executor: Executor,
    *,
    in_flight: int,
    restart: Callable[[int], Executor] | None = None,
) -> Iterator[Outcome]:
    """Yield the outcome of each task as it finishes; at most `in_flight` are submitted at a time.
    `restart` creates an executor with a number of processes after one broke; without it the remaining tasks fail. A
    task that crashes its process fails without affecting the others.
    """
    waiting = deque(tasks)
    launchers: set[object] = set()
    pending: dict[Future[Outcome], Task] = {}
    while waiting or pending:
        try:
            while waiting and len(pending) < in_flight:
                task = _assign_launcher(waiting[0], launchers)
                pending[executor.submit(run_task, task)] = task
                waiting.popleft()
        except BrokenExecutor:
            pass
        broken: list[Task] = []
        if not pending:
            broken.append(waiting.popleft())
        for future in wait(pending, return_when=FIRST_COMPLETED).done:
            task = pending.pop(future)
            try:
                outcome = future.result()
            except BrokenExecutor:
                broken.append(task)
                continue
            except Exception as error:
                outcome = Outcome(number=task.number, state=FAILED, reason=describe_error(error))
            if task.launcher and outcome.launcher != "built":
                launchers.discard(_launcher_of(task.variant))
            yield outcome
        if broken:
            broken += pending.values()
            pending.clear()
            if restart is None:
                yield from (Outcome(number=task.number, state=FAILED, reason="the executor broke") for task in broken)
                continue
            yield from _run_alone(broken, restart)
            executor = restart(0)


def _run_alone(suspects: Sequence[Task], restart: Callable[[int], Executor]) -> Iterator[Outcome]:
    """Run each of `suspects` in a process of its own, since one of them crashed its process."""
    executor = restart(1)
    for task in suspects:
        try:
            yield executor.submit(run_task, task).result()
        except BrokenExecutor:
            yield Outcome(number=task.number, state=FAILED, reason=CRASHED)
            executor = restart(1)


def _assign_launcher(task: Task, assigned: set[object]) -> Task:
    """Return `task`, with `launcher` set only if no earlier task builds the same launcher."""
    identity = _launcher_of(task.variant)
    if not task.launcher or identity in assigned:
        return replace(task, launcher=False)
    assigned.add(identity)
    return task


def _launcher_of(variant: KernelVariant) -> object:
    """Return what determines a launcher: the argument types (triton 3.6 driver.py, make_launcher)."""
    classes = dict(variant.key.attributes)
    kinds = tuple("constexpr" if classes.get(name) == "=1" else kind for name, kind in variant.key.signature)
    return variant.key.target, kinds

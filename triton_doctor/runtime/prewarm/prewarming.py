"""Compiles a plan into a cache folder, its tasks through an executor, or checks that the folder has it all."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.cache_placement import list_kernel_entries, write_entries
from triton_doctor.runtime.event import COMPILED, CompileEvent, EndEvent
from triton_doctor.runtime.lines import write_line
from triton_doctor.runtime.prewarm.prewarm_plan import FAILED, Outcome, Prewarmed, Task
from triton_doctor.runtime.prewarm.worker import describe_error, run_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant
    from triton_doctor.runtime.prewarm.prewarm_plan import PrewarmPlan
    from triton_doctor.runtime.recording import Recording

CRASHED = "the compiler ended its process"


def compile_plan(
    plan: PrewarmPlan,
    cache_dir: Path,
    open_executor: Callable[[int], Executor],
    *,
    in_flight: int,
    is_local: bool,
    lookup_only: bool = False,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Prewarmed:
    """Compile `plan` into the folder `cache_dir`, target by target; with `lookup_only` only look it up.

    `open_executor` creates an executor with a number of processes, 0 for its default. Unless `is_local`, its
    workers do not write into the folder: their results are written here, and only one executor is created.
    """
    result = Prewarmed(plan=plan)
    for target in plan.targets:
        tasks = [
            Task(
                number=number,
                variant=variant,
                cache_dir=str(cache_dir) if is_local else None,
                lookup_only=lookup_only,
                launcher=not lookup_only,
            )
            for number, variant in enumerate(plan.variants)
            if variant.key.target == target
        ]
        # Variants of one kernel at once: each worker imports few modules.
        tasks.sort(key=lambda task: (task.variant.kernel.module, task.variant.kernel.name, task.number))
        opened: list[Executor] = []

        def open_one(processes: int, opened: list[Executor] = opened) -> Executor:
            opened.append(open_executor(processes))
            return opened[-1]

        try:
            restart = open_one if is_local else None
            for outcome in run_tasks(tasks, open_one(0), in_flight=in_flight, restart=restart):
                write_entries(cache_dir, outcome.files)
                result.outcomes[outcome.number] = replace(outcome, files=())
                on_progress(len(result.outcomes))
        finally:
            for executor in opened if is_local else ():
                executor.shutdown(wait=False, cancel_futures=True)
    return result


def check_plan(
    plan: PrewarmPlan, cache_dir: Path, open_executor: Callable[[int], Executor], *, in_flight: int
) -> Prewarmed:
    """Look up `plan` in the folder `cache_dir`; `unused` are the entries that it does not name."""
    result = compile_plan(plan, cache_dir, open_executor, in_flight=in_flight, is_local=True, lookup_only=True)
    used = {outcome.entry for outcome in result.outcomes.values()}
    result.unused = tuple(pair for pair in list_kernel_entries(cache_dir) if pair[0] not in used)
    return result


def record_plan(plan: PrewarmPlan, recordings: Sequence[Recording], path: Path) -> None:
    """Write `plan` as a dry recording with the autotunings of `recordings`, from which a process can prewarm.

    Raises OSError.
    """
    headers = [header for recording in recordings for header in recording.headers]
    header = replace(headers[0], dry=True, rank=None, world_size=None)
    lines = [write_line(header)]
    for variant in plan.variants:
        event = CompileEvent(
            kernel=variant.kernel,
            key=variant.key,
            tier=COMPILED,
            stages_us=(),
            launch_site=None,
            device=None,
            thread=0,
            rank=None,
            at_ns=header.started_at_ns,
            values=variant.values,
            source=variant.source,
            exact=variant.exact,
            dry=True,
        )
        lines.append(write_line(event))
    lines += [write_line(event) for recording in recordings for event in recording.tunings]
    lines.append(write_line(EndEvent(wall_us=0, at_ns=header.started_at_ns)))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def count_jobs(asked: int | None) -> int:
    """Return the number of worker processes: `asked`, or the number of usable CPU cores."""
    return asked or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


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

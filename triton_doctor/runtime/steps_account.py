"""The steps and requests of a run: how many there were, and what compiled in which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.runtime.causes import explain_all
from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent
from triton_doctor.runtime.program_event import StepEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import Event
    from triton_doctor.runtime.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilingStep:
    """A step, or a request, in which kernels compiled, loaded or were tuned, in one process or in several.

    `variants` compiled and `loaded` came from disk: each counts once, however many processes had it. `compile_us` is
    of the process that took longest. `causes` are those of the process in which the step compiled most.
    """

    kind: str
    number: int | None
    name: str
    variants: int
    loaded: int
    tuned: int
    compile_us: int
    duration_us: int
    processes: int
    causes: tuple[Recompile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsAccount:
    """All steps and requests of a run. `compiling` are those in which something compiled, in order of time.

    Of several processes `steps` is how many that one had which had most, and `requests` are those of all.
    """

    steps: int
    requests: int
    compiling: tuple[CompilingStep, ...]


def account_steps(processes: Sequence[Recording]) -> StepsAccount | None:
    """Summarize the steps and requests of `processes`; None if there are none."""
    seen: dict[tuple[object, ...], list[tuple[StepEvent, dict[int, list[Event]], dict[int, Recompile]]]] = {}
    steps, requests = 0, 0
    for index, process in enumerate(processes):
        events = [event for event in process.events if isinstance(event, StepEvent)]
        if not events:
            continue
        steps = max(steps, sum(event.count for event in events if event.kind == "step"))
        requests += sum(event.count for event in events if event.kind == "request")
        if not any(event.compiles_ns for event in events):
            continue
        by_time: dict[int, list[Event]] = {}
        for timed in process.events:
            if isinstance(timed, CompileEvent | AutotuneEvent):
                by_time.setdefault(timed.at_ns, []).append(timed)
        causes = {cause.event.at_ns: cause for cause in explain_all(process.events, process.before)}
        for event in events:
            if event.compiles_ns:
                # A step has one number in all ranks; a request belongs to one process.
                same = event.number if event.kind == "step" else (index, event.started_at_ns, event.name)
                seen.setdefault((event.kind, same), []).append((event, by_time, causes))
    if not steps and not requests:
        return None
    compiling = sorted(seen.values(), key=lambda found: min(event.started_at_ns for event, _, _ in found))
    return StepsAccount(steps=steps, requests=requests, compiling=tuple(_merge(found) for found in compiling))


def _merge(found: Sequence[tuple[StepEvent, dict[int, list[Event]], dict[int, Recompile]]]) -> CompilingStep:
    variants: set[object] = set()
    loaded: set[object] = set()
    tuned: set[object] = set()
    slowest_us = 0
    for event, by_time, _ in found:
        took_us = 0
        for timed in (timed for at_ns in dict.fromkeys(event.compiles_ns) for timed in by_time.get(at_ns, ())):
            if isinstance(timed, CompileEvent):
                (variants if timed.tier == COMPILED else loaded).add(
                    (timed.kernel, repr(timed.key), timed.source, timed.made)
                )
                took_us += timed.duration_us
            elif isinstance(timed, AutotuneEvent):
                tuned.add((timed.kernel, repr(timed.key)))
        slowest_us = max(slowest_us, took_us)
    most, _, causes = max(found, key=lambda seen: len(seen[0].compiles_ns))
    recompiles = [causes.get(at_ns) for at_ns in dict.fromkeys(most.compiles_ns)]
    return CompilingStep(
        kind=most.kind,
        number=most.number,
        name=most.name,
        variants=len(variants),
        loaded=len(loaded - variants),
        tuned=len(tuned),
        compile_us=slowest_us,
        duration_us=max(event.at_ns - event.started_at_ns for event, _, _ in found) // 1000,
        processes=len(found),
        causes=tuple(cause for cause in recompiles if cause is not None),
    )

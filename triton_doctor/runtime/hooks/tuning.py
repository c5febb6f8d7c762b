"""Seeing each round of tuning, also those that compile nothing.

Triton 3.8 brought a listener. Before it, a round is seen by the methods that only a round calls.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.event import HOOKED, KEPT, NOT_KEPT
from triton_doctor.runtime.hooks.frames import launch_site
from triton_doctor.runtime.hooks.observer import FinishedRound
from triton_doctor.runtime.hooks.slots import KnobSlot, Slot
from triton_doctor.runtime.live.activity import TRIAL, TUNING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.runtime.hooks.observer import Observer
    from triton_doctor.runtime.hooks.slots import Patch


def watch_tuning(observer: Observer) -> Iterator[Patch]:
    """Report each autotuning to `observer` from now on."""
    import triton
    from triton.runtime.autotuner import Autotuner

    autotuning = getattr(getattr(triton, "knobs", None), "autotuning", None)
    rounds = Rounds()
    yield _watch_beginning(Autotuner, rounds, observer)
    if hasattr(autotuning, "listener"):
        yield _watch_listener(rounds, observer)
        yield _watch_progress(Autotuner, observer)
    else:
        yield from _watch_rounds(Autotuner, rounds, observer)


def _watch_listener(rounds: Rounds, observer: Observer) -> KnobSlot:
    from triton import knobs
    from triton.runtime import autotuner

    slot = KnobSlot(lambda: knobs.autotuning, "listener", reader=autotuner)

    def combine(theirs: Any) -> Callable[..., Any]:
        def listener(**fields: Any) -> Any:
            # Only the Autotuner knows the names of what is in the key (triton 3.9 autotuner.py:268).
            tuner = sys._getframe(1).f_locals.get("self")
            try:
                hear(fields, tuner)
            finally:
                result = None if theirs is None else theirs(**fields)
            return result

        return listener

    def hear(fields: dict[str, Any], tuner: Any) -> None:
        try:
            now = rounds.open.pop(id(tuner), None)
            observer.activities.end(TUNING)
            finished = FinishedRound(
                fn=fields["fn"],
                key=fields["key"],
                names=_names(tuner),
                best=fields["best_config"],
                timings=fields["configs_timings"],
                duration_s=fields["duration"],
                cached=bool(fields["cache_hit"]),
                launched_before=None if now is None else now.launched,
                kept=_kept(tuner),
            )
        except Exception:
            observer.fault("listening to a round of tuning")
        else:
            observer.tuned(finished)

    slot.fill(combine)
    return slot


@dataclass(slots=True)
class Round:
    """A round of tuning that goes on: how many configs are to be tried, and those that were.

    `launched` is how often its kernel had been launched before; None while nobody counts.
    """

    configs: int
    started_ns: int
    launched: int | None
    timings: dict[Any, Any] = field(default_factory=dict)


class Rounds(threading.local):
    """The rounds that go on in this thread, by the identity of their Autotuner."""

    def __init__(self) -> None:
        self.open: dict[int, Round] = {}


def _watch_rounds(autotuner: Any, rounds: Rounds, observer: Observer) -> Iterator[Slot]:
    """Watch autotuning up to triton 3.7 by methods that only autotuning calls.

    Wrapping `Autotuner.run` would cost each launch 0.4 us.
    """
    yield _watch_trials(autotuner, rounds, observer)
    if "check_disk_cache" in vars(autotuner):
        yield _watch_disk(autotuner, rounds, observer)


def _watch_beginning(autotuner: Any, rounds: Rounds, observer: Observer) -> Slot:
    """Detect the start of an autotuning, which prunes its configs first (triton 3.2 autotuner.py:184)."""
    slot = Slot(autotuner, "prune_configs")
    before = slot.before

    def prune_configs(self: Any, *args: Any, **kwargs: Any) -> Any:
        left = before(self, *args, **kwargs)
        try:
            rounds.open[id(self)] = Round(len(left), time.perf_counter_ns(), observer.launched(innermost(self)))
            if observer.activities.are_watched:
                kernel = observer.name_of(innermost(self))
                observer.activities.begin(TUNING, kernel, kernel.name, site=launch_site(), configs=len(left))
        except Exception:
            observer.fault("reading a round of tuning")
        return left

    slot.fill(prune_configs)
    return slot


def _watch_trials(autotuner: Any, rounds: Rounds, observer: Observer) -> Slot:
    slot = Slot(autotuner, "_bench")
    before = slot.before

    def _bench(self: Any, *args: Any, **kwargs: Any) -> Any:
        observer.activities.try_config()
        timing = before(self, *args, **kwargs)
        now = rounds.open.get(id(self))
        if now is not None:
            now.timings[kwargs.get("config")] = timing
            if len(now.timings) == now.configs:
                del rounds.open[id(self)]
                observer.activities.end(TUNING)
                duration_s = (time.perf_counter_ns() - now.started_ns) / 1e9
                _report(observer, self, now.timings, duration_s, now.launched)
        return timing

    slot.fill(_bench)
    return slot


def _watch_progress(autotuner: Any, observer: Observer) -> Slot:
    """Count configs as they are tried; since 3.8 the listener is only called at the end."""
    slot = Slot(autotuner, TRIAL)
    before = slot.before

    @functools.wraps(before)
    def _bench(self: Any, *args: Any, **kwargs: Any) -> Any:
        observer.activities.try_config()
        return before(self, *args, **kwargs)

    slot.fill(_bench)
    return slot


def _watch_disk(autotuner: Any, rounds: Rounds, observer: Observer) -> Slot:
    slot = Slot(autotuner, "check_disk_cache")
    before = slot.before

    def check_disk_cache(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = before(self, *args, **kwargs)
        if found:
            now = rounds.open.pop(id(self), None)
            observer.activities.end(TUNING)
            _report(observer, self, self.configs_timings, None, None if now is None else now.launched)
        return found

    slot.fill(check_disk_cache)
    return slot


def _report(
    observer: Observer, tuner: Any, timings: dict[Any, Any], duration_s: float | None, launched: int | None
) -> None:
    try:
        finished = FinishedRound(
            fn=innermost(tuner),
            key=_key_of_round(tuner),
            names=_names(tuner),
            best=min(timings, key=timings.__getitem__),
            timings=timings,
            duration_s=duration_s,
            cached=duration_s is None,
            launched_before=launched,
            kept=_kept(tuner),
        )
    except Exception:
        observer.fault("reading a round of tuning")
    else:
        observer.tuned(finished)


def _key_of_round(tuner: Any) -> Any:
    """Return the tuning key, a local of `Autotuner.run` on the stack."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == "run" and frame.f_locals.get("self") is tuner:
            return frame.f_locals.get("key", ())
    return ()


def _kept(tuner: Any) -> str:
    """Return whether `tuner` stores its timings on disk; empty for a library's own tuner."""
    if not type(tuner).__module__.startswith("triton."):
        return ""
    if not getattr(tuner, "cache_results", False):
        return NOT_KEPT
    # Triton gives up keeping them for all configs (triton 3.9 autotuner.py, check_disk_cache).
    return HOOKED if any(config.pre_hook for config in tuner.configs) else KEPT


def _names(tuner: Any) -> list[str] | None:
    keys = getattr(tuner, "keys", None)
    return [str(key) for key in keys if key in tuner.arg_names] if isinstance(keys, list | tuple) else None


def innermost(tuner: Any) -> Any:
    """Return the JITFunction inside `tuner`."""
    # Heuristics may stand between an Autotuner and its JITFunction, which alone has params.
    fn = tuner.fn
    while not hasattr(fn, "params") and hasattr(fn, "fn"):
        fn = fn.fn
    return fn

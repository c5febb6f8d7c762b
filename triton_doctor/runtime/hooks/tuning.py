"""Seeing each round of tuning, also those that compile nothing.

Triton 3.8 brought a listener. Before it, a round is what makes an Autotuner know more keys after a run than before.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.slots import Slot

if TYPE_CHECKING:
    from triton_doctor.runtime.hooks.observer import Observer


def watch_tuning(observer: Observer) -> list[Slot]:
    """`observer` learns of each round of tuning from now on."""
    try:
        from triton import knobs
    except ImportError:
        return [_watch_runs(observer)]
    if hasattr(knobs, "autotuning") and hasattr(knobs.autotuning, "listener"):
        return [_watch_listener(knobs.autotuning, observer)]
    return [_watch_runs(observer)]


def _watch_listener(autotuning: Any, observer: Observer) -> Slot:
    slot = Slot(autotuning, "listener")
    before = slot.before

    def listener(**told: Any) -> Any:
        try:
            # Only the Autotuner knows the names of what is in the key (triton 3.9 autotuner.py:268).
            tuner = sys._getframe(1).f_locals.get("self")
            observer.tuned(
                told["fn"],
                key=told["key"],
                names=_names(tuner),
                best=told["best_config"],
                timings=told["configs_timings"],
                duration_s=told["duration"],
                cached=bool(told["cache_hit"]),
            )
        except Exception:
            observer.fault("listening to a round of tuning")
        return None if before is None else before(**told)

    slot.fill(listener)
    return slot


def _watch_runs(observer: Observer) -> Slot:
    from triton.runtime.autotuner import Autotuner

    slot = Slot(Autotuner, "run")
    before = slot.before

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        known = len(self.cache)
        # Set by each round that measures; a round found on disk leaves it alone (triton 3.6 autotuner.py:228).
        timed = getattr(self, "bench_time", None)
        try:
            return before(self, *args, **kwargs)
        finally:
            if len(self.cache) > known:
                _tell(observer, self, known, timed)

    slot.fill(run)
    return slot


def _tell(observer: Observer, tuner: Any, known: int, timed: Any) -> None:
    try:
        duration_s = getattr(tuner, "bench_time", None)
        for key in list(tuner.cache)[known:]:
            observer.tuned(
                _kernel(tuner),
                key=key,
                names=_names(tuner),
                best=tuner.cache[key],
                timings=getattr(tuner, "configs_timings", None),
                duration_s=None if duration_s is timed else duration_s,
                cached=duration_s is timed,
            )
    except Exception:
        observer.fault("reading a round of tuning")


def _names(tuner: Any) -> list[str] | None:
    keys = getattr(tuner, "keys", None)
    return [str(key) for key in keys if key in tuner.arg_names] if isinstance(keys, list | tuple) else None


def _kernel(tuner: Any) -> Any:
    # Heuristics may stand between an Autotuner and its JITFunction, which alone has params.
    fn = tuner.fn
    while not hasattr(fn, "params") and hasattr(fn, "fn"):
        fn = fn.fn
    return fn

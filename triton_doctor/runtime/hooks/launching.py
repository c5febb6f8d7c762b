"""Counting launches, by the one attribute that each of them reads from its CompiledKernel.

Nothing is kept on triton's objects: torch pickles the `__dict__` of a CompiledKernel (torch 2.13
_inductor/runtime/triton_heuristics.py:2696). Measured on Python 3.11 for a cached launch of 6 us: a hook before each
run costs 0.37 us, wrapping JITFunction.run 0.51, a launch hook 0.05 and Inductor's fast launcher; this costs 0.03.
"""

from __future__ import annotations

import itertools
import operator
import threading
import time
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.runtime.event import KernelName
    from triton_doctor.runtime.hooks.observer import Observer

# How long the launches of one span of a tally take, about: so often it is asked whether counts are to be written.
SPAN_S = 0.25
LONGEST_SPAN = 1 << 16


class Tally:
    """Launches of one compiled kernel.

    A launch takes one of `turns`, an iterator in C: the cheapest way to count, and no other thread comes between under
    the GIL. When there is none left, a new span begins: `given` turns, after `done` launches. `key` is what `turns` are
    found by.
    """

    __slots__ = ("began_s", "done", "given", "kernel", "key", "span", "turns")

    def __init__(self, kernel: KernelName, key: Any) -> None:
        self.kernel, self.key = kernel, key
        self.span, self.began_s = 1, time.monotonic()
        self.done, self.given, self.turns = 0, 0, itertools.repeat(None, 0)

    @property
    def count(self) -> int:
        """Return the number of launches so far."""
        return self.done + self.given - operator.length_hint(self.turns)

    def begin_span(self) -> None:
        """Begin a span whose length fits the current launch rate."""
        now_s = time.monotonic()
        took_s, self.began_s = now_s - self.began_s, now_s
        if took_s < SPAN_S:
            self.span = min(self.span * 2, LONGEST_SPAN)
        elif took_s > 2 * SPAN_S:
            self.span = max(1, int(self.span * SPAN_S / took_s))
        self._give(self.span)

    def end_span(self) -> None:
        """Make the next launch begin a new span."""
        self._give(0)

    def _give(self, turns: int) -> None:
        self.done, self.given, self.turns = self.count, turns, itertools.repeat(None, turns)


class LaunchCounter:
    """Launches by kernel since counting began. `pulses` are called about every SPAN_S in which kernels are launched."""

    def __init__(self, observer: Observer) -> None:
        self.pulses: tuple[Callable[[], None], ...] = ()
        self._observer = observer
        self._tallies: dict[int, Tally] = {}
        self._turns: dict[Any, Iterator[None]] = {}
        self._references: dict[int, weakref.ref[Any]] = {}
        self._gone: Counter[KernelName] = Counter()
        # A signal handler that launches may interrupt its own thread while that begins a span.
        self._lock = threading.RLock()

    def watch(self) -> Iterator[Slot]:
        """Count launches from now on."""
        from triton.compiler.compiler import CompiledKernel

        if isinstance(vars(CompiledKernel).get("run"), property):
            slot = Slot(CompiledKernel, "run")
            slot.fill(property(self._counting_property(slot.before.fget)))
        else:
            # Until 3.4 `run` is made by _init_handles, which each launch calls through __getattribute__
            # (triton 3.4 compiler.py:497); that would make an attribute read in Python cost as much as a launch hook.
            slot = Slot(CompiledKernel, "_init_handles")
            slot.fill(self._counting(slot.before))
        yield slot

    def totals(self) -> dict[KernelName, int]:
        """Return the number of launches of each kernel so far."""
        total = Counter(self._gone)
        for tally in list(self._tallies.values()):
            total[tally.kernel] += tally.count
        return dict(total)

    def begin_in_child(self) -> None:
        """Make the first launch in a forked child call the pulses, which treat it as a new process."""
        self._lock = threading.RLock()
        self._turns.clear()
        for tally in self._tallies.values():
            tally.end_span()

    def _counting_property(self, before: Any) -> Any:
        # Triton's own property reads `_run`, and calls _init_handles where it is None (triton 3.6 compiler.py:474).
        # Somebody else's is called.
        if getattr(before, "__code__", None) is None or before.__code__.co_names != ("_run", "_init_handles"):
            return self._counting(before)
        turns, take_turn = self._turns, self._take_turn

        def run(kernel: Any) -> Any:
            # By the launcher, which is read anyway, and not by id(kernel): a call would be half of the cost.
            launcher = kernel._run
            try:
                next(turns[launcher])
                return launcher
            except (KeyError, StopIteration, TypeError):
                pass  # what `before` raises is to have no context of ours
            launcher = before(kernel)
            take_turn(kernel, launcher if _is_of_one_kernel(launcher) else id(kernel))
            return launcher

        return run

    def _counting(self, before: Any) -> Any:
        turns, take_turn = self._turns, self._take_turn

        def call(kernel: Any) -> Any:
            try:
                next(turns[id(kernel)])
            except (KeyError, StopIteration):
                take_turn(kernel, id(kernel))
            return before(kernel)

        return call

    def _take_turn(self, kernel: Any, key: Any) -> None:
        """Count a launch whose `key` has no turns left: the first of its kernel, or of a span."""
        try:
            name = self._observer.name_of(getattr(kernel.src, "fn", kernel.src))
            with self._lock:
                tally = self._tally_of(kernel, name, key)
                begins = not operator.length_hint(tally.turns)
                if begins:
                    tally.begin_span()
                next(tally.turns, None)
                self._turns[key] = tally.turns
            if begins:
                self._call_pulses()
        except Exception:
            self._observer.fault("counting launches")

    def _tally_of(self, kernel: Any, name: KernelName, key: Any) -> Tally:
        ident = id(kernel)
        tally = self._tallies.get(ident)
        if tally is None:
            # Before the tally, so that no tally outlives its kernel and counts for another at its address.
            self._references[ident] = weakref.ref(kernel, lambda _: self._fold(ident))
            tally = self._tallies[ident] = Tally(name, key)
        elif tally.key != key:
            # The kernel was loaded again.
            self._turns.pop(tally.key, None)
            tally.key = key
        return tally

    def _call_pulses(self) -> None:
        for pulse in self.pulses:
            try:
                pulse()
            except Exception:
                self._observer.fault("writing how often kernels were launched")

    def _fold(self, ident: int) -> None:
        self._references.pop(ident, None)
        tally = self._tallies.pop(ident, None)
        if tally is not None:
            self._turns.pop(tally.key, None)
            self._gone[tally.kernel] += tally.count


def _is_of_one_kernel(launcher: Any) -> bool:
    """Return whether each kernel has its own launcher, created by calling a class (3.9 compiler.py:468)."""
    from triton.runtime.driver import driver

    kind: Any = type(launcher)
    makes_new = kind.__new__ is object.__new__ and kind.__hash__ is object.__hash__
    return makes_new and driver.active.launcher_cls is kind

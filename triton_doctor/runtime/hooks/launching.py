"""Counting launches, by the one attribute that each of them reads from its CompiledKernel.

Nothing is kept on triton's objects: torch pickles the `__dict__` of a CompiledKernel (torch 2.13
_inductor/runtime/triton_heuristics.py:2696). Measured on Python 3.11 for a cached launch of 6 us: a hook before each
run costs 0.37 us, wrapping JITFunction.run 0.51, a launch hook 0.05 and Inductor's fast launcher; this costs 0.07.
"""

from __future__ import annotations

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
    """Launches of one compiled kernel: `total - left`.

    A launch only decrements `left`, which gives no other thread a turn under the GIL: nothing is called in it. At 0 a
    new span begins: both numbers grow by it.
    """

    __slots__ = ("began_s", "kernel", "left", "span", "total")

    def __init__(self, kernel: KernelName) -> None:
        self.kernel = kernel
        self.total, self.left, self.span = 2, 1, 1
        self.began_s = time.monotonic()

    @property
    def count(self) -> int:
        """Launches so far."""
        return self.total - self.left

    def begin_span(self) -> None:
        """Begin a new span, as long as launches now are frequent."""
        now_s = time.monotonic()
        took_s, self.began_s = now_s - self.began_s, now_s
        if took_s < SPAN_S:
            self.span = min(self.span * 2, LONGEST_SPAN)
        elif took_s > 2 * SPAN_S:
            self.span = max(1, int(self.span * SPAN_S / took_s))
        self.left += self.span
        self.total += self.span

    def end_span(self) -> None:
        """Have the next launch begin a new span."""
        self.total -= self.left - 1
        self.left = 1


class LaunchCounter:
    """Launches by kernel since counting began. `pulses` are called about every SPAN_S in which kernels are launched."""

    def __init__(self, observer: Observer) -> None:
        self.pulses: tuple[Callable[[], None], ...] = ()
        self._observer = observer
        self._tallies: dict[int, Tally] = {}
        self._references: dict[int, weakref.ref[Any]] = {}
        self._gone: Counter[KernelName] = Counter()
        self._lock = threading.Lock()

    def watch(self) -> Iterator[Slot]:
        """Count from now on."""
        from triton.compiler.compiler import CompiledKernel

        if isinstance(vars(CompiledKernel).get("run"), property):
            slot = Slot(CompiledKernel, "run")
            slot.fill(property(self._counting_property(slot.before.fget)))
        else:
            # Until 3.4 `run` is made by _init_handles, which each launch calls through __getattribute__
            # (triton 3.4 compiler.py:497); that would make an attribute read in Python cost as much as a launch hook.
            slot = Slot(CompiledKernel, "_init_handles")
            slot.fill(self._counting_method(slot.before))
        yield slot

    def totals(self) -> dict[KernelName, int]:
        """Launches of each kernel so far."""
        total = Counter(self._gone)
        for tally in list(self._tallies.values()):
            total[tally.kernel] += tally.count
        return dict(total)

    def begin_in_child(self) -> None:
        """Have the first launch in a forked child call the pulses: to them it is a new process."""
        self._lock = threading.Lock()
        for tally in self._tallies.values():
            tally.end_span()

    def _counting_property(self, before: Any) -> Any:
        tallies, begin, pulse = self._tallies, self._begin, self._begin_span
        # Triton's own property reads `_run`, and calls _init_handles where it is None (triton 3.6 compiler.py:474):
        # read here, it costs a launch one call less. Somebody else's is called.
        own = getattr(before, "__code__", None) is not None and before.__code__.co_names == ("_run", "_init_handles")

        # Each wrapper counts in its own body, three times the same lines: a call would be the largest part of the cost.
        def run(kernel: Any) -> Any:
            try:
                tally = tallies[id(kernel)]
            except KeyError:
                begin(kernel)
            else:
                left = tally.left = tally.left - 1
                if not left:
                    pulse(tally)
            return before(kernel)

        def run_own(kernel: Any) -> Any:
            try:
                tally = tallies[id(kernel)]
            except KeyError:
                begin(kernel)
            else:
                left = tally.left = tally.left - 1
                if not left:
                    pulse(tally)
            launcher = kernel._run
            return before(kernel) if launcher is None else launcher

        return run_own if own else run

    def _counting_method(self, before: Any) -> Any:
        tallies, begin, pulse = self._tallies, self._begin, self._begin_span

        def _init_handles(kernel: Any) -> Any:
            try:
                tally = tallies[id(kernel)]
            except KeyError:
                begin(kernel)
            else:
                left = tally.left = tally.left - 1
                if not left:
                    pulse(tally)
            return before(kernel)

        return _init_handles

    def _begin(self, kernel: Any) -> None:
        try:
            name = self._observer.name_of(getattr(kernel.src, "fn", kernel.src))
            self._begin_tally(kernel, name)
            self._call_pulses()
        except Exception:
            self._observer.fault("counting launches")

    def _begin_tally(self, kernel: Any, name: KernelName) -> None:
        ident = id(kernel)
        with self._lock:
            tally = self._tallies.get(ident)
            if tally is None:
                # Before the tally, so that no tally outlives its kernel and counts for another at its address.
                self._references[ident] = weakref.ref(kernel, lambda _: self._fold(ident))
                self._tallies[ident] = Tally(name)
            else:
                # Two threads launched it first.
                tally.total += 1

    def _begin_span(self, tally: Tally) -> None:
        tally.begin_span()
        self._call_pulses()

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
            self._gone[tally.kernel] += tally.count

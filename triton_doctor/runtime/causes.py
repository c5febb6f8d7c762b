"""Why a kernel compiled, or was tuned, again: the difference from the nearest earlier key of the same kernel."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.runtime.cause_table import AT_ONCE, FIRST, MADE_AGAIN, RANKS, TUNED_AGAIN
from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent, Event, FailureEvent, KernelName, Scalar
from triton_doctor.runtime.key_changes import KeyChange, compare, compare_tuning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# A difference of one part ends the search, so this bounds only kernels that never come that near to an earlier key:
# 10,000 keys of which each differs in two parts are told in 3 s.
LOOK_BACK = 64
# Python's lock changes hands every 5 ms: 5 to 11 ms were seen among 8 threads, and servers have more of them.
LONGEST_TURN_NS = 1_000_000_000
# Of 10,000 values the first few show what kind they are of.
VALUES_KEPT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesSeen:
    """How many values `name` has had, this one included, and the `first` of them, oldest first."""

    name: str
    count: int
    first: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recompile:
    """Why `event` happened. `nearest` is None, and `changes` empty, for the first of its kernel.

    `seen` is what each changed constexpr (or part of a tuning key) has been so far.
    """

    event: CompileEvent | AutotuneEvent
    nearest: CompileEvent | AutotuneEvent | None
    changes: tuple[KeyChange, ...]
    code: str
    seen: tuple[ValuesSeen, ...] = ()


def explain(event: CompileEvent, earlier: Sequence[CompileEvent]) -> Recompile:
    """Explain why `event` compiled, by its difference from the nearest key in `earlier`.

    `earlier` is in order of time and of the same kernel.
    """
    history = History()
    for other in earlier:
        history.remember(other)
    return history.explain(event)


def explain_all(events: Iterable[Event], before: Iterable[Event] = ()) -> tuple[Recompile, ...]:
    """Explain each compile and each autotuning in `events`, in their order.

    First autotunings, and those loaded from disk, are left out. `before` are earlier events, or stand for kernels
    in memory. Ranks, and kernels of the same name in different places, are kept apart.
    """
    histories: defaultdict[tuple[type, KernelName, int | None], History] = defaultdict(History)
    for event in before:
        if isinstance(event, CompileEvent | AutotuneEvent):
            histories[type(event), event.kernel, event.rank].remember(event)
    recompiles: list[Recompile] = []
    for event in events:
        if isinstance(event, FailureEvent) and event.refused:
            histories[CompileEvent, event.kernel, event.rank].forget(event)
        if isinstance(event, CompileEvent | AutotuneEvent):
            history = histories[type(event), event.kernel, event.rank]
            recompile = history.explain(event)
            history.remember(event)
            if isinstance(event, CompileEvent) or (recompile.nearest is not None and not event.cached):
                recompiles.append(recompile)
    return tuple(recompiles)


class History:
    """The earlier events of one kernel and of one kind; grows by an event at a time, so that it can be asked live."""

    def __init__(self) -> None:
        self._recent: deque[CompileEvent | AutotuneEvent] = deque(maxlen=LOOK_BACK)
        # Of 100,000 keys only hashes are kept, of 64 bits, and of each the end and the thread of its last compile.
        self._of_key: dict[int, tuple[int, int]] = {}
        self._values: defaultdict[str, set[int]] = defaultdict(set)
        self._first: defaultdict[str, list[Scalar]] = defaultdict(list)

    def remember(self, event: CompileEvent | AutotuneEvent) -> None:
        """Add `event` to the history."""
        self._recent.append(event)
        if isinstance(event, CompileEvent):
            self._of_key[hash(identify(event))] = event.at_ns, event.thread
        for name, value in _varying(event):
            if self._is_new(name, value):
                self._values[name].add(_digest(value))
                if len(self._first[name]) < VALUES_KEPT:
                    self._first[name].append(value)

    def forget(self, refusal: FailureEvent) -> None:
        """Remove the compile whose launch a guard refused, on the thread of `refusal`; it left no kernel in memory."""
        refused = next((event for event in reversed(self._recent) if event.thread == refusal.thread), None)
        if isinstance(refused, CompileEvent):
            self._recent.remove(refused)
            self._of_key.pop(hash(identify(refused)), None)

    def explain(self, event: CompileEvent | AutotuneEvent) -> Recompile:
        """Explain `event` by the history, without adding it."""
        nearest, changes = self._nearest(event)
        if nearest is None:
            return Recompile(event=event, nearest=None, changes=(), code=FIRST)
        if isinstance(event, AutotuneEvent):
            code = TUNED_AGAIN
        elif not changes and isinstance(nearest, CompileEvent) and at_once(event, nearest):
            code = AT_ONCE
        else:
            code = min((change.code for change in changes), key=RANKS.__getitem__, default=MADE_AGAIN)
        seen = tuple(self._seen(event, changes))
        return Recompile(event=event, nearest=nearest, changes=changes, code=code, seen=seen)

    def _nearest(
        self, event: CompileEvent | AutotuneEvent
    ) -> tuple[CompileEvent | AutotuneEvent | None, tuple[KeyChange, ...]]:
        same = self._same(event) if isinstance(event, CompileEvent) else None
        if same is not None:
            return same, ()
        best: CompileEvent | AutotuneEvent | None = None
        fewest: tuple[KeyChange, ...] = ()
        for other in reversed(self._recent):
            changes = _changes(event, other)
            if best is None or len(changes) < len(fewest):
                best, fewest = other, changes
            if len(fewest) <= 1:
                break
        return best, fewest

    def _same(self, event: CompileEvent) -> CompileEvent | None:
        """Return the last compile of the same key, with only its end time if it is no longer kept; or None."""
        identity = identify(event)
        known = self._of_key.get(hash(identity))
        if known is None:
            return None
        for other in reversed(self._recent):
            if isinstance(other, CompileEvent) and identify(other) == identity:
                return other
        at_ns, thread = known
        return replace(event, at_ns=at_ns, thread=thread, launch_site=None, stages_us=(), process_us=0, values=())

    def _is_new(self, name: str, value: Scalar) -> bool:
        return _digest(value) not in self._values[name]

    def _seen(self, event: CompileEvent | AutotuneEvent, changes: tuple[KeyChange, ...]) -> Iterator[ValuesSeen]:
        now = dict(_varying(event))
        for change in changes:
            if change.name in now:
                new = [now[change.name]] if self._is_new(change.name, now[change.name]) else []
                first = (*self._first[change.name], *new)[:VALUES_KEPT]
                yield ValuesSeen(name=change.name, count=len(self._values[change.name]) + len(new), first=first)


def identify(event: CompileEvent) -> object:
    """Return a key that is equal for events that `compare` cannot tell apart."""
    key = event.key
    # By text, for 2, 2.0 and True are equal and yet three values.
    values = repr((key.constants, key.options))
    return key.signature, values, key.attributes, key.spelled, key.target, event.device, event.source, event.made


def _digest(value: Scalar) -> int:
    # By text, for 2, 2.0 and True are equal and yet three values.
    return hash(repr(value))


def at_once(event: CompileEvent, other: CompileEvent) -> bool:
    """Return whether `event` compiled concurrently with `other`, an earlier event, on another thread.

    A load may begin later: a thread that found nothing in memory waits for its turn before it reads the disk.
    """
    begun_ns = event.at_ns - 1000 * (event.duration_us + event.process_us)
    turn_ns = 0 if event.tier == COMPILED else LONGEST_TURN_NS
    return event.thread != other.thread and begun_ns <= other.at_ns + turn_ns


def _varying(event: CompileEvent | AutotuneEvent) -> tuple[tuple[str, Scalar], ...]:
    return event.key.constants if isinstance(event, CompileEvent) else event.key


def _changes(event: CompileEvent | AutotuneEvent, other: CompileEvent | AutotuneEvent) -> tuple[KeyChange, ...]:
    match event, other:
        case CompileEvent(), CompileEvent():
            return compare(event, other)
        case AutotuneEvent(), AutotuneEvent():
            return compare_tuning(event, other)
        case _:
            raise TypeError("a history is of one kind")

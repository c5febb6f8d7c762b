"""Loops that only data ends: with the same guess each time they would not end in a dry run.

From the frame that asks outwards, by the bytecode of each function: does the answer reach a test that leaves a loop (by
variables, attributes, or what the function returns), and does every other way out depend on data, too?

    while not converged(x):       # asked in `converged`, whose result is the test
        x = step(x)
        if time.time() > latest:  # need not come: time means nothing in a dry run
            break
"""

from __future__ import annotations

import bisect
import collections
import datetime
import dis
import inspect
import itertools
import sys
import time
import types
import weakref
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.frames import NOT_THE_USERS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator
    from types import CodeType, FrameType

MOST_ASKED = 10_000
# A line asks so often before its function is read.
FEW = 100
# Torch's own loop over functions of the program.
WHILE_LOOP = "torch._higher_order_ops.while_loop"
RESULT = "<result>"
JUMPS = frozenset(dis.hasjrel + dis.hasjabs)
AWAITING = ("SEND", "JUMP_BACKWARD_NO_INTERRUPT")
ENDINGS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
# What a caller, or the consumer of a generator or comprehension, gets.
SHARING = ("STORE_GLOBAL", "STORE_DEREF")
COLLECTING = ("LIST_APPEND", "SET_ADD", "MAP_ADD")
GIVING = ("RETURN_VALUE", "YIELD_VALUE", *COLLECTING)


class Activation:
    """The questions of one frame. Stored as its trace function, to be freed with the frame; traces nothing."""

    def __init__(self) -> None:
        self.turns: dict[frozenset[int], Turns] = {}

    def __call__(self, *_: object) -> None:
        """Ignore the events of a tracer."""


class Turns:
    """Counts the questions of each instruction in one execution of a loop, which `entry` identifies."""

    def __init__(self, entry: tuple[int, ...]) -> None:
        self.entry = entry
        self._asked: collections.Counter[int] = collections.Counter()
        self._callees: dict[int, weakref.ref[Activation]] = {}

    def count(self, place: int, callee: Activation | None) -> int:
        """Count a question at `place`, once for each call that is made there. Returns the largest count."""
        last = self._callees.get(place)
        if callee is None or last is None or last() is not callee:
            self._asked[place] += 1
        if callee is not None:
            self._callees[place] = weakref.ref(callee)
        return max(self._asked.values())


class Loops:
    """The loops of a dry run."""

    def __init__(self) -> None:
        self._asked: collections.Counter[tuple[CodeType, int]] = collections.Counter()
        self._functions: dict[CodeType, ReadFunction] = {}

    def count(self) -> tuple[int, str]:
        """Count the question that is asked now: how often its loop has asked above MOST_ASKED, and where the loop is.

        The number is 0 where the answer does not decide a loop that only data ends.
        """
        callee, reached = None, frozenset({RESULT})
        for frame in _callers(sys._getframe(1)):
            if callee is None:
                self._asked[frame.f_code, frame.f_lasti] += 1
                if self._asked[frame.f_code, frame.f_lasti] <= FEW:
                    break
            if frame.f_trace is None:
                frame.f_trace = Activation()
            activation, function = frame.f_trace, self._read(frame)
            if not isinstance(activation, Activation):  # somebody traces
                break
            place = function.place(frame.f_lasti)
            loop, reached = function.follow(place, reached, frame)
            activation.turns = {each: turns for each, turns in activation.turns.items() if place in each}
            if loop:
                entry, turns = function.entry(loop, frame), activation.turns.get(loop)
                if turns is None or turns.entry != entry:
                    turns = activation.turns[loop] = Turns(entry)
                more = FEW + turns.count(place, callee) - MOST_ASKED
                return max(0, more), f"{frame.f_code.co_filename.rpartition('/')[2]}:{function.line(loop)}"
            if not reached:
                break
            callee = activation
        return 0, ""

    def _read(self, frame: FrameType) -> ReadFunction:
        if frame.f_code not in self._functions:
            self._functions[frame.f_code] = ReadFunction(frame.f_code)
        return self._functions[frame.f_code]


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module == WHILE_LOOP or module.partition(".")[0] not in NOT_THE_USERS:
            yield frame
        frame = frame.f_back


class ReadFunction:
    """The instructions of a code object, by index: where each goes on, and which have asked for data."""

    def __init__(self, code: CodeType) -> None:
        self._steps = list(dis.get_instructions(code))
        self._offsets = [step.offset for step in self._steps]
        handled: Any = dis.Bytecode(code)
        self._handled = [
            (exception_entry.start, exception_entry.end, exception_entry.target)
            for exception_entry in handled.exception_entries
        ]
        self._reads = [_names(step, "LOAD_") for step in self._steps]
        self._writes = [_names(step, "STORE_") for step in self._steps]
        self._next = [self._goes_on(n) for n in range(len(self._steps))]
        self._before: list[list[int]] = [[] for _ in self._steps]
        for n, following in enumerate(self._next):
            for each in following:
                self._before[each].append(n)
        # What can only raise is a failure, and no way out.
        returns = [n for n, step in enumerate(self._steps) if step.opname in ("RETURN_VALUE", "RETURN_CONST")]
        self._alive = self._reach(returns, self._before, range(len(self._steps)))
        self._followed: dict[tuple[int, frozenset[str]], Any] = {}

    def _goes_on(self, n: int) -> list[int]:
        step = self._steps[n]
        is_jump = step.opcode in JUMPS
        is_final = step.opname in ENDINGS or (step.opname.startswith("JUMP") and "_IF_" not in step.opname)
        # Waiting for a coroutine is no loop of the program.
        there = [self.place(step.argval)] if is_jump and step.opname != AWAITING[1] else []
        return there + ([] if is_final else [n + 1])

    def _reach(
        self, begin: Iterable[int], edges: list[list[int]], within: Container[int], without: tuple[int, int] = (-1, -1)
    ) -> set[int]:
        """Return what is reached along `edges` without leaving `within`, and without one edge."""
        found: set[int] = set()
        ahead = list(begin)
        while ahead:
            n = ahead.pop()
            if n not in found:
                found.add(n)
                ahead += [edge for edge in edges[n] if edge in within and (n, edge) != without]
        return found

    def place(self, offset: int) -> int:
        """Return the index of the instruction at `offset`, which may be in its caches."""
        return bisect.bisect_right(self._offsets, offset) - 1

    def line(self, loop: frozenset[int]) -> int:
        """Return the first line of `loop`."""
        return min(step.positions.lineno or 0 for step in map(self._steps.__getitem__, loop) if step.positions)

    def _loops(self, place: int) -> Iterator[frozenset[int]]:
        """Yield the loops around `place`, the innermost first."""
        found: list[frozenset[int]] = []
        within = self._alive
        while place in within:
            loop = self._reach([place], self._next, within) & self._reach([place], self._before, within)
            if len(loop) == 1:
                break
            found.append(frozenset(loop))
            within = loop - {min(loop)}
        yield from reversed(found)

    def follow(self, place: int, reached: frozenset[str], frame: FrameType) -> tuple[Any, frozenset[str]]:
        """Return the innermost loop that `place` decides and only data ends, or else what the answer reaches outside.

        `reached` is what the answer has reached in what is called there: its result, attributes and shared variables.
        """
        if (place, reached) not in self._followed:
            # More depends on data than before.
            self._followed = dict.fromkeys([*self._followed, (place, reached)])
        if self._followed[place, reached] is None:
            self._followed[place, reached] = self._follow(place, reached, frame)
        found: tuple[Any, frozenset[str]] = self._followed[place, reached]
        return found

    def _follow(self, place: int, reached: frozenset[str], frame: FrameType) -> tuple[Any, frozenset[str]]:
        places = {place} if RESULT in reached else set()
        for loop in self._loops(place):
            if not self._ends(loop, frame) and not self._exits(loop).isdisjoint(self._spread(places, reached, loop)[0]):
                return loop, frozenset()
        dependent, names = self._spread(places, reached, self._alive)
        shared = set().union(*(self._writes[n] for n in self._alive if self._steps[n].opname in SHARING))
        outside = {name for name in names if name.startswith(".") or name in shared}
        if any(self._steps[n].opname in GIVING for n in dependent):
            outside.add(RESULT)
        return None, frozenset(outside)

    def _ends(self, loop: frozenset[int], frame: FrameType) -> bool:
        """Return whether `loop` has a way out that does not depend on data."""
        asked = [(place, names) for place, names in self._followed if place in loop]
        places = {*(place for place, names in asked if RESULT in names), *self._idle(loop, frame)}
        dependent, _ = self._spread(places, frozenset().union(*(names for _, names in asked)), loop)
        return not self._exits(loop) <= dependent or self._is_left_by_exception(loop)

    def _exits(self, loop: frozenset[int]) -> set[int]:
        return {n for n in loop if any(each not in loop and each in self._alive for each in self._next[n])}

    def _is_left_by_exception(self, loop: frozenset[int]) -> bool:
        for start, end, target in self._handled:
            inside = [start <= self._offsets[n] < end for n in loop]
            handler = self.place(target)
            is_handled = any(inside) and not all(inside) and handler in self._alive - loop
            if is_handled and loop.isdisjoint(self._reach([handler], self._next, self._alive)):
                return True
        return False

    def _spread(self, places: set[int], names: frozenset[str], within: Container[int]) -> tuple[set[int], set[str]]:
        """Return the instructions `within` that depend on what `places` give or `names` hold, and all such names."""
        scope = sorted(n for n in range(len(self._steps)) if n in within)
        known, dependent, size = set(names), set[int](), -1
        while len(known) + len(dependent) > size:
            size = len(known) + len(dependent)
            for n in scope:
                if n not in dependent and any(m in places or self._reads[m] & known for m in self._segment(n)):
                    dependent.add(n)
                    ways = [each for each in self._next[n] if each in within]
                    for way in ways if len(ways) > 1 else ():
                        dependent |= set(scope) - self._reach(scope[:1], self._next, within, (n, way))
            for n in dependent:
                known |= self._writes[n]
                if self._steps[n].opname in COLLECTING:
                    # A comprehension in the function itself (since Python 3.12): its collection is used behind it.
                    ends = (m for m in range(n, len(self._steps)) if self._steps[m].opname == "END_FOR")
                    places = places | set(itertools.islice(ends, 1))
        return dependent, known

    def _segment(self, n: int) -> range:
        """Return the instructions of the expression whose value is tested, stored or given at `n`."""
        first = n
        while first > 0 and self._writes[n] and self._writes[first - 1]:  # of several targets
            first -= 1
        while first > 0 and not self._completes(first - 1):
            first -= 1
        return range(first, n + 1)

    def _completes(self, n: int) -> bool:
        name, before = self._steps[n].opname, self._steps[n - 1].opname
        if (
            name.endswith("_OR_POP") or before in ("COPY", "SWAP", "END_FOR") or name in AWAITING
        ):  # the value is still to be used
            return False
        if name == "POP_TOP":
            return "JUMP" not in before
        return bool(self._writes[n]) or self._steps[n].opcode in JUMPS or name in ENDINGS

    def _idle(self, loop: frozenset[int], frame: FrameType) -> Iterator[int]:
        """Yield what ends no loop: tests of a clock, and a `for` over itertools.count() or cycle()."""
        for n in loop:
            values: list[Any] = [None]
            for step in self._steps[self._segment(n).start : n]:
                if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                    is_plain = inspect.ismodule(values[-1]) or inspect.isclass(values[-1])
                    values.append(getattr(values[-1], step.argval, None) if is_plain else None)
                elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST"):
                    values.append(frame.f_locals.get(step.argval, frame.f_globals.get(step.argval)))
            called = [value for value in values if callable(value)]
            owners = [each.__self__ for each in called if isinstance(each, types.BuiltinMethodType)]
            is_clock = any(owner is time or owner is datetime.datetime for owner in owners)
            is_endless = called[:1] in ([itertools.count], [itertools.cycle])
            if is_clock or (is_endless and self._steps[n].opname == "FOR_ITER"):
                yield n

    def entry(self, loop: frozenset[int], frame: FrameType) -> tuple[int, ...]:
        """Identify the turn of the loops around `loop`, by the objects in variables that only they set.

        The test before the first turn is an instruction of its own, outside of the loop, until Python 3.13.
        """
        *_, outermost = self._loops(min(loop))
        outer, own = ({name for n in each for name in self._writes[n]} for each in (outermost, loop))
        names = sorted(outer - own)
        held = frame.f_locals if names else {}
        return tuple(id(held.get(name)) for name in names)


def _names(step: dis.Instruction, kind: str) -> set[str]:
    """Return the variables, and after a dot the attributes, that an instruction loads or stores."""
    name, argument = step.opname, step.argval
    given = argument if isinstance(argument, tuple) else (argument,)
    if name == "STORE_FAST_LOAD_FAST":
        given = given[:1] if kind == "STORE_" else given[1:]
    elif not name.startswith(kind) or name == "LOAD_CONST":
        return set()
    dot = "." if name.endswith(("_ATTR", "_METHOD")) else ""
    return {dot + each for each in given if isinstance(each, str)}

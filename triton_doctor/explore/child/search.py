"""The search for calls of an entry that reach its launches: an example or a guess, repaired by what it raises."""

from __future__ import annotations

import heapq
import inspect
import itertools
import time
import typing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from triton_doctor.explore.child import naming
from triton_doctor.explore.child.branches import other_branches
from triton_doctor.explore.child.calling import Seen, describe_error, execute, renew_threads
from triton_doctor.explore.child.changes import StateChanges
from triton_doctor.explore.child.guesses import NOTHING, Guesser, Notes, hints_of, kind_of
from triton_doctor.explore.child.repair import repair, where_of
from triton_doctor.explore.child.state import Spec, State, Tie

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.explore.child.target import Target
    from triton_doctor.explore.model import EntryPlan, Limits

# Changes taken from one exception.
MOST_REPAIRS = 24
# Calls beside the best one that reach further launch sites.
MOST_STATES = 7
# What a change costs, and how much more each further change of one exception: the first is followed some steps before
# the third is tried.
STEP, FURTHER = 0.25, 0.15
# Calls that went through without a launch: another branch comes first, another argument after all repairs.
BRANCH, NEIGHBOUR = (0, -(10**6)), (0, -1)
# Calls that are tried to have one that launches go through to its end.
MOST_AFTER_LAUNCH = 30
# Recorded calls that are tried.
MOST_EXAMPLES = 4
MOST_CHOICES = 6
EXTREMES = (("length", 4096), ("length", 1), ("width", 128), ("width", 256))


@dataclass(frozen=True, kw_only=True)
class ReachedStates:
    """What the search found. `states` are calls that launch, the first reaches most, the others further launch sites.

    `error` and `where` are of the last call that raised; empty where one went through. `is_complete` is whether the
    first of `states` did.
    """

    states: tuple[tuple[State, Seen], ...] = ()
    error: str = ""
    where: str = ""
    help: str = ""
    is_complete: bool = False
    is_over_limit: bool = False


@dataclass(kw_only=True)
class CallSearch:
    """One search. `kernels` are names of those that the entry leads to."""

    target: Target
    guesser: Guesser
    limits: Limits
    leading: frozenset[str]
    kernels: frozenset[str]
    tries: int = 0
    _began: float = field(default_factory=time.process_time)
    _tried: set[bytes] = field(default_factory=set)
    _number: Iterator[int] = field(default_factory=itertools.count)

    def run(self, first: Sequence[State]) -> ReachedStates:
        """Return what was reached from the calls `first`, the best first."""
        best, last = self._find(first)
        error = "" if last is None or last.error is None else describe_error(last.error)
        place = where_of(last, self.guesser.notes.is_inside)[-1:] if last is not None else ()
        where = f"{self.guesser.notes.relative(place[0][0])}:{place[0][1]}" if place else ""
        if best is None:
            return ReachedStates(
                error=error or "it ran without a launch",
                where=where,
                help="" if error else "pass an example that reaches the launch",
                is_over_limit=self._is_over(),
            )
        return ReachedStates(
            states=tuple(self._extend(best)),
            error="" if best[1].error is None else describe_error(best[1].error),
            where=where if best[1].error is not None else "",
            is_complete=best[1].error is None,
        )

    def call(self, state: State) -> Seen | None:
        """Call `state` unless that was done before."""
        if state.key in self._tried:
            return None
        self._tried.add(state.key)
        self.tries += 1
        return execute(self.target, state)

    def _is_over(self) -> bool:
        spent = time.process_time() - self._began
        return self.tries >= self.limits.calls or spent > self.limits.search_s

    def _find(self, first: Sequence[State]) -> tuple[tuple[State, Seen] | None, Seen | None]:
        """Return the first call that ends after launching, else the one that launches most; and the last call."""
        queue: list[tuple[tuple[int, ...], float, int, State]] = [
            ((-1000,), place, next(self._number), state) for place, state in enumerate(first)
        ]
        partial: tuple[State, Seen] | None = None
        last: Seen | None = None
        rest = self.limits.calls
        while queue and rest and not self._is_over():
            before, cost, _, state = heapq.heappop(queue)
            seen = self.call(state)
            if seen is None:
                continue
            last = seen
            if seen.launched and seen.error is None:
                return (state, seen), seen
            if seen.launched and (partial is None or len(seen.launched) > len(partial[1].launched)):
                partial, rest = (state, seen), MOST_AFTER_LAUNCH
            rest -= 1
            lines = tuple(-line for _, line in where_of(seen, self.guesser.notes.is_inside))
            found: list[tuple[tuple[int, ...], State]] = []
            if seen.error is None:
                branches = other_branches(self.target, state, self.guesser, self.leading)
                found += [(BRANCH, new) for new in branches]
                found += [(NEIGHBOUR, new) for new in neighbours(self.target, state, self.guesser)]
            else:
                repaired = repair(self.target, seen, self.guesser)[:MOST_REPAIRS]
                # What a branch leads to is followed before anything else.
                progress = (-len(seen.launched), *lines)
                found += [(min(progress, before) if before == BRANCH else progress, new) for new in repaired]
                if not seen.launched:
                    seen.error.__traceback__ = None
            for place, (progress, new) in enumerate(found):
                heapq.heappush(queue, (progress, cost + STEP + place * FURTHER, next(self._number), new))
        return partial, last

    def _extend(self, best: tuple[State, Seen]) -> Iterator[tuple[State, Seen]]:
        """Yield the best call, and then calls that reach launch sites or kernels that none before reached."""
        state, seen = best
        yield state, seen
        covered = set(seen.sites) | _kernels(seen)
        until = time.process_time() + self.limits.search_s / 2
        count = 1
        more = itertools.chain(
            self._other_ranks(state),
            (None,),
            other_branches(self.target, state, self.guesser, self.leading),
            neighbours(self.target, state, self.guesser),
        )
        for new in more:
            if new is None:
                if self.kernels <= covered:
                    return
                continue
            if time.process_time() > until or count == MOST_STATES or self.tries >= 2 * self.limits.calls:
                return
            again = self.call(new)
            if again is not None and again.error is not None and not again.launched:
                for repaired in repair(self.target, again, self.guesser)[:4]:
                    third = self.call(repaired)
                    if third is not None and third.error is None and third.sites - covered:
                        new, again = repaired, third
                        break
            if again is None or (again.error is not None and seen.error is None and not _kernels(again) - covered):
                continue
            reached = set(again.sites) | _kernels(again)
            is_rank = new.note.startswith("rank of") and again.error is None and bool(again.launched)
            if reached - covered or is_rank:
                covered |= reached
                count += 1
                yield new, again

    def _other_ranks(self, state: State) -> Iterator[State]:
        """Yield the call with its tensors of the smallest rank at higher ones: the code may take any."""
        ranks = {len(spec.axes) for spec in state.specs.values() if spec.kind == "tensor"}
        if not ranks or max(ranks) > 3:
            return
        by_rank: dict[int, str] = {}
        for path, spec in state.specs.items():
            if spec.kind == "tensor" and spec.dtype == "float" and spec.wants_gradient:
                by_rank.setdefault(len(spec.axes), path)
        if not by_rank:
            return
        highest = max(by_rank)
        for rank in range(highest + 1, 5):
            changes = StateChanges(state, self.guesser)
            changes.set_rank(by_rank[highest], rank)
            yield from changes.states[:1]


def reach(plan: EntryPlan, target: Target, limits: Limits) -> ReachedStates:
    """Find calls of `target` that reach its launches. Must be in a dry run."""
    renew_threads()
    guesser = Guesser(Notes(plan.notes, plan.root))
    search = CallSearch(
        target=target,
        guesser=guesser,
        limits=limits,
        leading=frozenset(plan.leading_names),
        kernels=frozenset(kernel.rpartition(":")[2] for kernel in plan.entry.kernels),
    )
    first = guesser.first_state(target)
    return search.run([*states_from_examples(plan.examples, first, guesser), first])


def _kernels(seen: Seen) -> set[str]:
    return {kernel.name for kernel in seen.launched}


def states_from_examples(examples: str, first: State, guesser: Guesser) -> Iterator[State]:
    """Yield calls like those of `examples`, the JSON of a list of states, in the place of the first guess.

    Each comes with the symbols of the first guess, so that a size names its axis, and as it was recorded, where axes of
    one size have one symbol.
    """
    recorded = msgspec.json.decode(examples, type=list[State]) if examples else []
    for number, example in enumerate(recorded[:MOST_EXAMPLES]):
        yield _with_own_sizes(first, example, guesser, number)
    for number, example in enumerate(recorded[:MOST_EXAMPLES]):
        yield _as_recorded(first, example, number)


def _with_own_sizes(first: State, example: State, guesser: Guesser, number: int) -> State:
    """Return the first guess with the ranks, dtypes, flags, choices and objects of an example."""
    state = first.copy(f"like example {number}")
    state.dtype = example.dtype
    for path, spec in example.specs.items():
        guessed = first.specs.get(path)
        if spec.kind == "tensor":
            has_axes = guessed is not None and guessed.kind == "tensor" and len(guessed.axes) == len(spec.axes)
            axes = guessed.axes if has_axes and guessed else guesser.axes(state, path, len(spec.axes), {})
            state.specs[path] = msgspec.structs.replace(spec, axes=axes)
        elif spec.kind in ("int", "list") and spec.axes:
            symbol = guessed.axes[0] if guessed is not None and guessed.kind == spec.kind and guessed.axes else path
            if not state.is_axis(symbol):
                state.sizes[symbol] = example.size(spec.axes[0])
            state.specs[path] = msgspec.structs.replace(spec, axes=(symbol,))
        else:
            state.specs[path] = spec
        varied = {tie.symbol for tie in example.ties}
        own = zip(state.specs[path].axes, spec.axes, strict=True)
        state.ties += tuple(Tie(symbol=symbol, provenance="test", what="") for symbol, its in own if its in varied)
    return state


def _as_recorded(first: State, example: State, number: int) -> State:
    """Return the example, completed from the first guess, with one symbol for all axes of one size."""
    state = example.copy(f"example {number}")
    by_size: dict[int, str] = {}
    for symbol in example.free:
        kept = by_size.setdefault(example.size(symbol), symbol) if example.size(symbol) > 1 else symbol
        if kept != symbol:
            state.rename(symbol, kept)
    missing: dict[str, Spec] = {path: spec for path, spec in first.specs.items() if path not in example.specs}
    for path, spec in missing.items():
        state.specs[path] = spec
        for symbol in spec.axes:
            state.sizes.setdefault(symbol, first.size(symbol))
    return state


def neighbours(target: Target, state: State, guesser: Guesser) -> Iterator[State]:
    """Yield the calls, the likeliest to launch something else first."""
    changes = StateChanges(state, guesser)
    for start, function, parameters in target.functions():
        notes, hints = guesser.notes.of(function), hints_of(function)
        for name, parameter in parameters.items():
            path = f"{start}{name}"
            spec = state.specs.get(path)
            if spec is None:
                continue
            value: Any = parameter.default if spec.kind == "default" else spec.value
            if isinstance(value, bool):
                changes.set_value(path, not value)
            elif isinstance(value, str):
                hint = hints.get(name)
                literals = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
                for choice in (*literals, *notes.get(name, NOTHING).choices)[:MOST_CHOICES]:
                    if isinstance(choice, str) and choice != value:
                        changes.set_value(path, choice)
            elif spec.kind == "none" or (spec.kind == "default" and parameter.default is None):
                kind = kind_of(name, hints.get(name, inspect.Parameter.empty), notes.get(name, NOTHING))
                if kind in ("tensor", "int", "float"):
                    new = state.copy(f"{path} is given")
                    new.set_spec(path, guesser.spec(new, path, hints.get(name), notes.get(name, NOTHING)))
                    changes.states.append(new)
    if state.dtype == "float32":
        changes.set_all_dtypes("bfloat16")
    for role, size in EXTREMES:
        for symbol in state.free:
            found = naming.role_of(symbol) or ("length" if symbol.startswith("axis") else "")
            if found == role and state.is_axis(symbol):
                changes.set_size(symbol, size)
    yield from changes.states

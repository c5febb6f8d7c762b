"""A call that reaches launches, to what moves the keys of its kernels: each size is varied alone.

Comes in: a `State` that runs. Each of its symbols is given other sizes (`SizeTrials.vary_alone`): two where nothing
moves, about eight where something does. A symbol stands for several axes where names say so: `length` is axis 1 of `q`
and of `k`. Where it moves something, each of these axes is given another size alone (`splitting`): `BLOCK_N` follows
`k_length` then. Axes that cannot differ are tied. Goes out: what moved, by the axis that moves it, explained as in any
sweep (`explaining`).
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from triton.runtime.autotuner import Autotuner, Config

from triton_doctor.explore.child.calling import execute
from triton_doctor.explore.child.inner_calls import ARGUMENT
from triton_doctor.runtime.dry.sweep.observation import Observation, ProbedPart, ProbedVariant
from triton_doctor.runtime.event import KernelName
from triton_doctor.runtime.sweep_event import CONSTEXPR, INTEGER, OPTION, TUNING_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from triton_doctor.explore.child.calling import Seen
    from triton_doctor.explore.child.inner_calls import InnerCalls
    from triton_doctor.explore.child.state import State
    from triton_doctor.explore.child.target import Target
    from triton_doctor.runtime.dry.sweep.dimensions import Point
    from triton_doctor.runtime.dry.sweep.size_formulas import Value

Owner = tuple[KernelName, ProbedPart]
Values = dict[Owner, frozenset["tuple[type, Value]"]]
Shapes = dict[str, tuple[int, ...]]
"""Shapes of the parameters and buffers of a module, by name."""

# Sizes that any axis may have; where those fail, multiples of usual blocks; where those fail too, powers of two.
LADDERS = (
    (33, 777, 7, 300, 100, 1, 127, 16, 200, 3, 48, 2049),
    (192, 320, 640, 64, 384, 896, 128, 256, 1024, 576),
    (16, 32, 64, 128, 256, 512, 8, 4, 2, 1, 1024, 2048),
)
# Multiples and divisors of the size that ran, tried before powers of two: what another size divides keeps to them.
FACTORS = (2, 3, 5, 7, 4, 11)
# Sizes after which an axis that moved nothing is left, and one of which every part has shown values enough.
QUIET, ENOUGH = 2, 8
# A ladder is left after as many sizes that failed, if none ran.
STEEP = 3
# A size that is much larger is tried where calls take less: some launch once a row.
LARGE, LONGEST_S = 1000, 0.1
VALUES = 5
# Parts for which it is worth to make further calls.
WATCHED = (CONSTEXPR, TUNING_KEY, OPTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What one call showed. `values` are those of each part, of an integer it itself; `classes` has its class."""

    observation: Observation
    values: Values
    classes: Values


@dataclass(slots=True)
class Alone:
    """What was seen as one symbol was varied alone, by its size, the first of which is that of the state.

    `failed` are sizes at which the call did not run. `moved` are the parts whose values differ.
    """

    ran: dict[int, Sighting]
    failed: list[int] = field(default_factory=list)
    shapes: dict[int, Shapes] = field(default_factory=dict)

    @property
    def moved(self) -> frozenset[Owner]:
        """Return the parts that do not have the same values everywhere."""
        return find_moved(seen.values for seen in self.ran.values())

    def has_enough(self, sizes: int) -> bool:
        """Return whether at least so many sizes ran, and each part that moved has shown values enough."""
        if len(self.ran) <= sizes:
            return False
        watched = filter(is_watched, self.moved)
        several = [seen.values for seen in self.ran.values()]
        return all(len({values[owner] for values in several if owner in values}) >= VALUES for owner in watched)


class SizeTrials:
    """Calls near a state, each made once. A call runs if it ends as that of the state does, and launches something."""

    def __init__(
        self, target: Target, state: State, inner: InnerCalls, until_s: float, *, is_brief: bool = False
    ) -> None:
        """Make the call `state`. `is_brief` is to make few others: it launches nothing that was not varied before."""
        self.state, self.symbols = state, state.free
        self.is_cut, self.is_brief = False, is_brief
        self.seen: dict[Point, Sighting | None] = {}
        self.alone: dict[str, Alone] = {}
        self._target, self._inner, self.until_s = target, inner, until_s
        self.base, first = self._call(state)
        self.seen[self.base_point] = first
        self._shapes = read_shapes(self.base)
        self._first = first

    @property
    def base_point(self) -> Point:
        """Return the sizes of the state."""
        return tuple(self.state.size(symbol) for symbol in self.symbols)

    @property
    def is_late(self) -> bool:
        """Return whether the time is used up; what is left out then is noted."""
        if time.process_time() < self.until_s:
            return False
        self.is_cut = True
        return True

    def vary_alone(self, symbol: str) -> Alone:
        """Call with other sizes of `symbol`, until nothing seems to move, or everything has moved enough."""
        base = self.state.size(symbol)
        alone = self.alone[symbol] = Alone(ran={base: self._first}, shapes={base: self._shapes})
        took_s = 0.0
        related = (
            *(base * factor for factor in FACTORS),
            *(base // factor for factor in FACTORS if base % factor == 0),
        )
        for ladder in (*LADDERS[:2], related, *LADDERS[2:]):
            before, failures = len(alone.ran), len(alone.failed)
            for size in ladder:
                if size in alone.ran or size in alone.failed or (size > LARGE and took_s > LONGEST_S):
                    continue
                if self._is_done(alone) or self.is_late:
                    return alone
                if len(alone.ran) == before and len(alone.failed) - failures >= STEEP and ladder != LADDERS[-1]:
                    break
                began_s = time.process_time()
                sighting, shapes = self._try({symbol: size})
                took_s = time.process_time() - began_s
                if sighting is None:
                    alone.failed.append(size)
                else:
                    alone.ran[size], alone.shapes[size] = sighting, shapes
            if len(alone.ran) > VALUES:
                break
        return alone

    def _is_done(self, alone: Alone) -> bool:
        is_quiet = not any(map(is_watched, alone.moved))
        return len(alone.ran) > QUIET if is_quiet else alone.has_enough(VALUES if self.is_brief else ENOUGH)

    def at(self, point: Point) -> Sighting | None:
        """Return what is seen at the sizes `point`; None where the call does not run, or the time is used up."""
        if point not in self.seen and not self.is_late:
            self._try(dict(zip(self.symbols, point, strict=True)))
        return self.seen.get(point)

    def _try(self, sizes: Mapping[str, int]) -> tuple[Sighting | None, Shapes]:
        state = self.state.copy()
        state.sizes |= sizes
        seen, sighting = self._call(state)
        runs = self._ends_alike(seen)
        point = tuple(sizes.get(symbol, size) for symbol, size in zip(self.symbols, self.base_point, strict=True))
        self.seen[point] = sighting if runs else None
        return self.seen[point], read_shapes(seen)

    def held(self) -> Iterator[State]:
        """Yield the state at sizes that failed, of symbols that move something: other arguments may let them run."""
        for symbol, alone in self.alone.items():
            generic = [size for size in alone.failed if size.bit_count() > 1]
            if len(generic) >= STEEP and any(map(is_watched, alone.moved)):
                state = self.state.copy(f"{symbol} is {max(generic)}")
                state.sizes[symbol] = max(generic)
                yield state

    def try_state(self, state: State) -> Sighting | None:
        """Return what is seen in a state of other symbols, if that launches the same kernels at the same places."""
        seen, sighting = self._call(state)
        return sighting if self._ends_alike(seen) and seen.sites == self.base.sites else None

    def _ends_alike(self, seen: Seen) -> bool:
        return bool(seen.launched) and type(seen.error) is type(self.base.error)

    def _call(self, state: State) -> tuple[Seen, Sighting]:
        with self._inner.listen() as heard, few_configs():
            seen = execute(self._target, state)
        seen = replace(seen, traceback=None, error=None if seen.error is None else seen.error.with_traceback(None))
        variants = (*seen.observation.variants, *dict.fromkeys(heard))
        # What a call launches before it raises as the first did is all that there is to see.
        observation = replace(seen.observation, variants=variants, is_complete=True)
        return seen, Sighting(
            observation=observation,
            values=_values_of(variants, have_integers=True),
            classes=_values_of(variants, have_integers=False),
        )


@contextlib.contextmanager
def few_configs() -> Iterator[None]:
    """Let rounds of tuning try only as many configs as show which of their parameters differ."""
    prune = Autotuner.prune_configs

    def choose(self: Autotuner, kwargs: dict[str, Any]) -> list[Config]:
        first, *others = prune(self, kwargs)
        chosen, differing = [first], set[str]()
        for config in others:
            new = {name for name, value in config.all_kwargs().items() if first.all_kwargs().get(name) != value}
            if not new <= differing:
                chosen.append(config)
                differing |= new
        return chosen

    Autotuner.prune_configs = choose
    try:
        yield
    finally:
        Autotuner.prune_configs = prune


def _values_of(variants: Iterable[ProbedVariant], *, have_integers: bool) -> Values:
    """Return the values of each part; of an integer the integers, if asked for, from which its class is made."""
    values: dict[Owner, set[tuple[type, Value]]] = {}
    for variant in variants:
        integers = dict(variant.integers) if have_integers else {}
        for part, value in variant.parts:
            known = integers.get(part.name, value) if part.kind == INTEGER else value
            values.setdefault((variant.kernel, part), set()).add((type(known), known))
    return {owner: frozenset(several) for owner, several in values.items()}


def find_moved(several: Iterable[Values]) -> frozenset[Owner]:
    """Return the parts that do not have the same values wherever they are seen."""
    first: Values = {}
    moved = set()
    for values in several:
        moved |= {owner for owner, own in values.items() if first.setdefault(owner, own) != own}
    return frozenset(moved)


def is_watched(owner: Owner) -> bool:
    """Return whether a part is worth further calls: an inner int is, an axis or a class is not."""
    _, part = owner
    return part.kind in WATCHED or (part.kind == ARGUMENT and "." not in part.name)


def read_shapes(seen: Seen) -> Shapes:
    """Return the shapes of the parameters and buffers of the module that was called."""
    module = seen.built.instance
    if not isinstance(module, torch.nn.Module):
        return {}
    return {name: tuple(tensor.shape) for name, tensor in (*module.named_parameters(), *module.named_buffers())}


def follow_symbol(alone: Alone) -> Iterable[str]:
    """Return the axes of parameters whose size is that of the symbol, wherever it ran: `weight.1`."""
    if len(alone.shapes) < 2:
        return []
    return [
        f"{name}.{axis}"
        for name, shape in next(iter(alone.shapes.values())).items()
        for axis in range(len(shape))
        if all(shapes.get(name, ())[axis : axis + 1] == (size,) for size, shapes in alone.shapes.items())
    ]

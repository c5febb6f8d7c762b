"""The dimensions of a sweep, and the points at which it calls the function.

A dimension is a range, in which a sweep chooses sizes itself, or a list of sizes, to which it keeps. Each dimension is
varied alone, from a round and an odd setting of the others, then some of the product is added. What is beyond the end
of a range is called `far`: it tells `min(length, 64)` from `length`, and may fail.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Point = tuple[int, ...]
"""A size of each dimension, in their order."""

SIZES_ALONE = 14
MIXED = 40
FAR = 4
WRITTEN = "write --vary length=1..4096, or a list of sizes: --vary batch=1,2,8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """The sizes that an argument can have; of a range, all from `first` to `last`. `is_fixed` is a size of a model."""

    name: str
    sizes: tuple[int, ...] = ()
    first: int = 0
    last: int = 0
    is_fixed: bool = False

    @property
    def is_range(self) -> bool:
        """Return whether the sweep may choose any size between `first` and `last`."""
        return not self.sizes

    def choose(self) -> tuple[int, ...]:
        """Return sizes that distinguish formulas: small, powers of two and neighbors, multiples of 16, odd."""
        if self.sizes:
            return self.sizes
        span = self.last - self.first + 1
        if span <= SIZES_ALONE:
            return tuple(range(self.first, self.last + 1))
        ends = [self.first, self.first + 1, self.last - 1, self.last]
        distinctive = [1, 2, 3, 16, 17, 32, 33, 48, 64, 100, 128, 129, 255, 256, 511, 777]
        powers = [power + more for power in (1 << bits for bits in range(9, 40)) for more in (0, 1)]
        inside = [each for each in (*distinctive, *powers) if self.first < each < self.last]
        step = max(1, -(-len(inside) // (SIZES_ALONE + 4)))
        odd = [self.first + span * part // 97 for part in (31, 59, 83)]
        return tuple(sorted({*ends, *inside[::step], *odd}))

    def between(self, low: int, high: int) -> int | None:
        """Return an allowed size about halfway between `low` and `high`; None if there is none."""
        if self.is_range:
            return (low + high) // 2 if high - low > 1 else None
        inside = [size for size in self.sizes if low < size < high]
        return inside[len(inside) // 2] if inside else None

    def draw(self, chance: random.Random) -> int:
        """Draw a random size; small and large magnitudes are about equally likely."""
        if self.sizes:
            return chance.choice(self.sizes)
        low, high = self.first, self.last
        if chance.random() < 0.5:
            return chance.randint(low, high)
        return min(high, max(low, int(2 ** chance.uniform(low.bit_length() - 1, high.bit_length()))))

    def __str__(self) -> str:
        return f"{self.name}={self.first}..{self.last}" if self.is_range else f"{self.name}={_list(self.sizes)}"


def read_dimensions(given: Mapping[str, object], fixed: Iterable[str] = ()) -> tuple[Dimension, ...]:
    """Convert the arguments of `sweep` to dimensions: a range, sizes, one size or `--vary` text, by name.

    Raises DoctorError for anything else, and for names in `fixed` that are no dimension.
    """
    names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    if not given:
        raise DoctorError("nothing to vary", hint=WRITTEN)
    for name in names:
        if name not in given:
            raise DoctorError(f"`{name}` is fixed, and no dimension: {', '.join(given)}", hint=f"vary {name} as well")
    return tuple(_dimension(name, sizes, is_fixed=name in names) for name, sizes in given.items())


def parse_vary(options: Sequence[str]) -> dict[str, object]:
    """Parse `batch=1..8` and `length=1,64` to the text of the sizes by name. Raises DoctorError if malformed."""
    dimensions: dict[str, object] = {}
    for option in options:
        name, equals, sizes = (part.strip() for part in option.partition("="))
        if not equals or not name.isidentifier():
            raise DoctorError(f"cannot read `--vary {option}`", hint=WRITTEN)
        if name in dimensions:
            raise DoctorError(f"`{name}` is varied twice", hint="name each dimension once")
        dimensions[name] = sizes
    return dimensions


def choose_points(dimensions: Sequence[Dimension]) -> tuple[list[Point], list[Point]]:
    """Choose the points to make formulas from, and points held back to test them. Deterministic."""
    chance = random.Random(0)
    sizes = [dimension.choose() for dimension in dimensions]
    alone: dict[Point, None] = dict.fromkeys((tuple(own[0] for own in sizes), tuple(own[-1] for own in sizes)))
    for base in _bases(sizes):
        for position, own in enumerate(sizes):
            alone |= dict.fromkeys((*base[:position], each, *base[position + 1 :]) for each in own)
    drawn = dict.fromkeys(tuple(dimension.draw(chance) for dimension in dimensions) for _ in range(4 * MIXED))
    extra = [point for point in drawn if point not in alone][:MIXED]
    held_back = extra[::3]
    return [*alone, *(point for point in extra if point not in held_back)], held_back


def far_points(dimensions: Sequence[Dimension]) -> Iterator[Point]:
    """Yield points beyond the end of each range, except for dimensions fixed by a model."""
    base = _bases([dimension.choose() for dimension in dimensions])[0]
    for position, dimension in enumerate(dimensions):
        if dimension.is_range and not dimension.is_fixed:
            for beyond in (2 * dimension.last + 1, FAR * dimension.last):
                yield (*base[:position], beyond, *base[position + 1 :])


def _bases(sizes: Sequence[Sequence[int]]) -> list[Point]:
    """Return the settings at which the other dimensions stay while one varies: a middle one and an odd one."""
    middle = tuple(own[len(own) // 2] for own in sizes)
    odd = tuple(next((each for each in reversed(own) if each % 2 and each != own[-1]), own[0]) for own in sizes)
    return [middle] if len(sizes) == 1 or odd == middle else [middle, odd]


def _dimension(name: str, given: object, *, is_fixed: bool) -> Dimension:
    if isinstance(given, str):
        return _parse(name, given, is_fixed=is_fixed)
    if isinstance(given, range) and given.step == 1 and len(given) > 1:
        return _checked(Dimension(name=name, first=given[0], last=given[-1], is_fixed=is_fixed), given)
    sizes = (given,) if isinstance(given, int) else tuple(given) if isinstance(given, list | tuple | range) else ()
    if not sizes or not all(type(size) is int for size in sizes):
        raise DoctorError(f"`{name}` has no sizes: {given!r}", hint="give a range, or a list of ints")
    return _checked(Dimension(name=name, sizes=tuple(sorted(set(sizes))), is_fixed=is_fixed), given)


def _parse(name: str, text: str, *, is_fixed: bool) -> Dimension:
    span = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if span is not None:
        return _dimension(name, _span(int(span[1]), int(span[2]), f"{name}={text}"), is_fixed=is_fixed)
    if re.fullmatch(r"\d+(,\d+)*", text) is None:
        raise DoctorError(f"cannot read the sizes of `{name}`: {text!r}", hint=WRITTEN)
    return _dimension(name, [int(word) for word in text.split(",")], is_fixed=is_fixed)


def _span(first: int, last: int, text: str) -> object:
    if last < first:
        raise DoctorError(f"`{text}` is empty", hint=f"write the smaller size first: {last}..{first}")
    return first if first == last else range(first, last + 1)


def _checked(dimension: Dimension, given: object) -> Dimension:
    if min(dimension.sizes or (dimension.first,)) < 0:
        raise DoctorError(f"`{dimension.name}` has a negative size: {given!r}", hint="sizes are 0 or more")
    return dimension


def _list(sizes: Sequence[int]) -> str:
    shown = ",".join(map(str, sizes[:6]))
    return f"{shown},... ({len(sizes)} sizes)" if len(sizes) > 6 else shown

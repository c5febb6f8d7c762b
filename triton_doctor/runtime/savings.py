"""All keys of a kernel to Savings: which parameters, left out of the key, would leave how many variants.

The cause of a compile is its difference from the nearest earlier key, which a flag that alternates shares with a length
that grows. Over the whole set of keys they come apart: 12 lengths with a flag are 24 variants; without the length 2
remain, without the flag 12.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.runtime.cause_table import CODE_OF_PART, CONSTEXPR, SHAPES, TUNED_AGAIN
from triton_doctor.runtime.key_changes import INTEGERS, part_of_option

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from triton_doctor.runtime.event import AutotuneEvent, CompileEvent, Scalar

# Two values of a constexpr are a choice that its author made, such as forward and backward, and so are few variants:
# from five values on a prediction is confirmed, which is to save four compiles.
CONSTEXPR_VALUES, CONSTEXPR_SAVES = 3, 4
# Kernels whose keys differ in four parameters at once, and in none of them alone, are not known.
MOST_TOGETHER = 3
# More keys than this change nothing about which parameters vary.
KEYS_READ = 2000


class KeyPart(NamedTuple):
    """A part of a key by which variants differ: `code` is the cause that a change of it is, `name` its parameter."""

    code: str
    name: str


class Variant(NamedTuple):
    """One key, by the values of its parts that are not the same in all, and what it took."""

    values: tuple[Hashable, ...]
    waited_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Variants:
    """The different keys of a kernel, process by process, in the order in which they came.

    `values` are those of each part that differs, as the program passed them where that is known.
    """

    parts: tuple[KeyPart, ...]
    values: Mapping[KeyPart, tuple[Scalar, ...]]
    processes: tuple[tuple[Variant, ...], ...]

    @property
    def count(self) -> int:
        """Return the number of variants, counted per process."""
        return sum(map(len, self.processes))

    def without(self, left_out: Sequence[KeyPart]) -> Variants:
        """Return the variants that remain if `left_out` are no longer part of the key; keeps the first of equals."""
        kept = [index for index, part in enumerate(self.parts) if part not in left_out]
        remaining: list[tuple[Variant, ...]] = []
        for variants in self.processes:
            first: dict[tuple[Hashable, ...], Variant] = {}
            for variant in variants:
                values = tuple(variant.values[index] for index in kept)
                first.setdefault(values, Variant(values, variant.waited_us))
            remaining.append(tuple(first.values()))
        parts = tuple(self.parts[index] for index in kept)
        return Variants(parts=parts, values=self.values, processes=tuple(remaining))


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """Without `parts` in the key `after` of `before` variants remain, which spares the program `saved_us`."""

    parts: tuple[KeyPart, ...]
    before: int
    after: int
    saved_us: int


def find_savings(variants: Variants, may_leave_out: Callable[[KeyPart], bool]) -> tuple[Saving, ...]:
    """Return the smallest sets of parts whose removal from the key saves most, one after the other.

    Only parts that `may_leave_out` accepts are considered. Sets are compared by the factor per parameter by which
    they divide the number of variants, so that a flag that doubles it never hides two lengths that multiply it by
    forty.
    """
    savings: list[Saving] = []
    while True:
        chosen = _choose(variants, [part for part in variants.parts if may_leave_out(part)])
        if chosen is None:
            return tuple(savings)
        after = variants.without(chosen)
        saved_us = _waited_us(variants) - _waited_us(after)
        savings.append(Saving(parts=chosen, before=variants.count, after=after.count, saved_us=int(saved_us)))
        variants = after


def _choose(variants: Variants, parts: Sequence[KeyPart]) -> tuple[KeyPart, ...] | None:
    sample = Variants(
        parts=variants.parts, values=variants.values, processes=tuple(keys[:KEYS_READ] for keys in variants.processes)
    )
    best: tuple[KeyPart, ...] | None = None
    most = 0.0
    for size in range(1, MOST_TOGETHER + 1):
        for chosen in combinations(parts, size):
            remaining = sample.without(chosen)
            if not _is_worth(sample, chosen, remaining.count):
                continue
            divides = math.log(sample.count / remaining.count) / size
            if divides > most * (1 + 1e-9):
                best, most = chosen, divides
    return best


def _is_worth(variants: Variants, chosen: Sequence[KeyPart], remaining: int) -> bool:
    constexprs = [part for part in chosen if part.code == CONSTEXPR]
    fewest = CONSTEXPR_SAVES if constexprs else 1
    enough = all(len(variants.values[part]) >= CONSTEXPR_VALUES for part in constexprs)
    return enough and variants.count - remaining >= fewest


def _waited_us(variants: Variants) -> float:
    return sum(variant.waited_us for keys in variants.processes for variant in keys)


def read_variants(processes: Iterable[Sequence[CompileEvent]], waited_us: Callable[[CompileEvent], float]) -> Variants:
    """Return the variants of one kernel that `processes` compiled or loaded."""
    read = [list(events) for events in processes]
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    # Keys that were read from files are one object each: a thousand ranks compile few.
    for key in {id(event.key): event.key for events in read for event in events}.values():
        for name, kind in key.signature:
            kinds[name].add(kind)
    rows: dict[tuple[Hashable, ...], Row] = {}

    def row_of(event: CompileEvent) -> Row:
        same = id(event.key), repr(event.values), event.device, event.source, event.made
        if same not in rows:
            rows[same] = _parts_of(event, kinds)
        return rows[same]

    return _tabulate([[(row_of(event), waited_us(event)) for event in events] for events in read])


def read_rounds(processes: Iterable[Sequence[AutotuneEvent]], waited_us: Callable[[AutotuneEvent], float]) -> Variants:
    """Return the keys for which one kernel was autotuned, in the form of variants."""
    return _tabulate(
        [
            [
                ({KeyPart(TUNED_AGAIN, name): (value, value) for name, value in event.key}, waited_us(event))
                for event in events
            ]
            for events in processes
        ]
    )


Row = dict[KeyPart, tuple["Scalar", "Hashable"]]


def _tabulate(processes: Sequence[Sequence[tuple[Row, float]]]) -> Variants:
    values: defaultdict[KeyPart, dict[str, Scalar]] = defaultdict(dict)
    distinct: defaultdict[KeyPart, set[str]] = defaultdict(set)
    every_row = {id(row): row for rows in processes for row, _ in rows}
    every = dict.fromkeys(part for row in every_row.values() for part in row)
    for row in every_row.values():
        for part in every:
            shown, identity = row.get(part, (None, None))
            distinct[part].add(repr(identity))
            values[part].setdefault(repr(shown), shown)
    parts = tuple(part for part in every if len(distinct[part]) > 1)
    keys = {same: tuple(repr(row.get(part, (None, None))[1]) for part in parts) for same, row in every_row.items()}
    table = []
    for rows in processes:
        first: dict[tuple[Hashable, ...], Variant] = {}
        for row, waited in rows:
            key = keys[id(row)]
            first.setdefault(key, Variant(key, waited))
        table.append(tuple(first.values()))
    return Variants(parts=parts, values={part: tuple(values[part].values()) for part in parts}, processes=tuple(table))


def _parts_of(event: CompileEvent, kinds: Mapping[str, set[str]]) -> Row:
    """Return the parts of a key, each with the value the program passed and the value in the key."""
    key = event.key
    constants, classes, values = dict(key.constants), dict(key.attributes), dict(event.values)
    row: Row = {}
    for name, kind in key.signature:
        class_ = classes.get(name, "")
        if kinds[name] == {"constexpr"}:
            row[KeyPart(CONSTEXPR, name)] = (constants.get(name), constants.get(name))
        elif kinds[name] <= INTEGERS:
            # `do_not_specialize` keeps the classes together, and not the widths.
            row[KeyPart(CODE_OF_PART["integer"], name)] = (values.get(name), class_)
            row[KeyPart(CODE_OF_PART["dtype"], name)] = (kind, kind)
        elif "none" in kinds[name]:
            row[KeyPart(CODE_OF_PART["none"], name)] = (kind, (kind, class_))
        else:
            row[KeyPart(CODE_OF_PART["dtype"], name)] = (kind, kind)
            row[KeyPart(CODE_OF_PART["alignment"], name)] = (class_, class_)
    for name, value in key.options:
        row[KeyPart(CODE_OF_PART[part_of_option(name)], name)] = (value, value)
    written = tuple(option.partition("=")[0] for option in key.spelled)
    row[KeyPart(CODE_OF_PART["spelling"], "options")] = (", ".join(written), written)
    device = f"{key.target} device {event.device}"
    row[KeyPart(CODE_OF_PART["device"], "device")] = (device, device)
    if event.generated is None:
        row[KeyPart(CODE_OF_PART["source"], "source")] = (event.source, event.source)
        row[KeyPart(CODE_OF_PART["object"], "kernel")] = (event.made, event.made)
    else:
        row[KeyPart(SHAPES, "shapes" if event.shapes else "code")] = (event.shapes, (event.shapes, event.source))
    return row

"""How often a value can change while one program runs: the kinds, and how they combine."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.static.variability.dims import DimFactor, DimProduct
    from triton_doctor.static.variability.trace import Note

# Up to so many values, a value that changes per call is one of a handful: a kernel has that many variants at the most.
HANDFUL = 16
# As many powers of two: `min(64, max(16, next_power_of_2(n)))` has three.
POWERS_HANDFUL = 4
# Evidence that a size follows the data: two leanings, and two more for each that speaks against.
EVIDENCE = 2


class Variability(IntEnum):
    """How often, from seldom to often; UNKNOWN where the value could not be followed."""

    FIXED = 0
    FEW = 1
    PER_MODEL = 2
    LOGARITHMIC = 3
    PER_CALL = 4
    UNKNOWN = 5

    @property
    def label(self) -> str:
        """The word of JSON and settings: `per_call`."""
        return self.name.lower()


_MOST = {Variability.PER_CALL: HANDFUL, Variability.LOGARITHMIC: POWERS_HANDFUL}


class AbstractNumber(NamedTuple):
    """A number, a flag or a word, by how often it changes.

    `low` and `high` bound it where that is known, `power` says that it is a power of two, `literal` holds what it is
    in the source. `pro` are leanings towards PER_CALL and `con` those towards PER_MODEL: they speak only while the kind
    is UNKNOWN. `size` is its spelling as a product of axes, `atoms` the undecided axes that it was computed from.
    `from_data` where it was read out of a tensor or is the length of a sequence. `is_capped` where `min` cuts it to
    `high`. `trail` runs from the source to here.
    """

    kind: Variability
    low: int | None = None
    high: int | None = None
    power: bool = False
    literal: object = ...
    pro: frozenset[str] = frozenset()
    con: frozenset[str] = frozenset()
    size: DimProduct | None = None
    atoms: frozenset[DimFactor] = frozenset()
    from_data: bool = False
    is_capped: bool = False
    trail: tuple[Note, ...] = ()

    def decide(self) -> Variability:
        """The kind, leanings and bounds considered."""
        kind = self.kind
        if kind is Variability.UNKNOWN:
            pro, con = len(self.pro), len(self.con)
            if pro >= EVIDENCE * (1 + con):
                kind = Variability.LOGARITHMIC if self.power else Variability.PER_CALL
            elif con > pro:
                kind = Variability.PER_MODEL
        if self.high is not None and kind in _MOST:
            bound = self.bound
            if bound is not None and bound <= _MOST[kind]:
                return Variability.FEW
        return kind

    @property
    def is_guess(self) -> bool:
        """Whether nothing but leanings decides the kind."""
        return self.kind is Variability.UNKNOWN and not self.from_data

    @property
    def bound(self) -> int | None:
        """The most values that it can have; None where there is no telling."""
        if self.high is None:
            return None
        low = 1 if self.low is None else self.low
        if self.power:
            return max(max(self.high, 1).bit_length() - max(low, 1).bit_length() + 1, 1)
        return max(self.high - low + 1, 1)

    def stepping(self, note: Note) -> AbstractNumber:
        """The same value, one step further on its way."""
        return AbstractNumber(*self[:-1], (*self.trail, note))


UNKNOWN = AbstractNumber(kind=Variability.UNKNOWN)
FEW = AbstractNumber(kind=Variability.FEW)
FIXED = AbstractNumber(kind=Variability.FIXED)


def join(scalars: Iterable[AbstractNumber]) -> AbstractNumber:
    """One of `scalars`, or what arithmetic makes of them: the greatest kind, with the trail that leads to it.

    PER_CALL outweighs UNKNOWN, and UNKNOWN everything less. Leanings of undecided operands add up.
    """
    operands = list(scalars)
    if not operands:
        return UNKNOWN
    if len(operands) == 1:
        return operands[0]
    settled = [operand.decide() for operand in operands]
    for kind in (Variability.PER_CALL, Variability.UNKNOWN):
        if kind in settled:
            chosen = operands[settled.index(kind)]
            break
    else:
        kind = max(settled)
        chosen = operands[settled.index(kind)]
    # What the kernel does along an axis that may be the model's says nothing of the other operands.
    free = (own is Variability.PER_CALL or not operand.con for operand, own in zip(operands, settled, strict=True))
    atoms: frozenset[DimFactor] = frozenset().union(
        *(operand.atoms for operand, is_free in zip(operands, free, strict=True) if is_free)
    )
    if kind is not Variability.UNKNOWN:
        sources = [operand for operand, own in zip(operands, settled, strict=True) if own is kind]
        from_data = any(operand.from_data for operand in sources)
        return AbstractNumber(kind=kind, atoms=atoms, from_data=from_data, trail=chosen.trail)
    undecided = [operand for operand, own in zip(operands, settled, strict=True) if own is Variability.UNKNOWN]
    leading = max(undecided, key=lambda operand: len(operand.pro) - len(operand.con))
    # What is computed from a power of two is none, and takes as few values: its leanings say nothing of the result.
    pro = frozenset[str]().union(*(operand.pro for operand in undecided if not operand.power))
    con = frozenset[str].intersection(*(operand.con for operand in undecided))
    return AbstractNumber(
        kind=Variability.UNKNOWN, pro=pro, con=con, atoms=atoms, from_data=leading.from_data, trail=leading.trail
    )


def choice(scalars: Iterable[AbstractNumber]) -> AbstractNumber:
    """One of `scalars`: as `join`, and one of several fixed values is one of a FEW."""
    operands = list(scalars)
    moving = [operand for operand in operands if operand.kind is not Variability.FIXED]
    joined = join(moving or operands)
    if len(operands) < 2:
        return joined
    if len({operand.size for operand in moving}) == 1:
        joined = joined._replace(size=moving[0].size)
    lows = [operand.low for operand in operands]
    highs = [operand.high for operand in operands]
    if joined.kind is Variability.FIXED and len({repr(operand.literal) for operand in operands}) > 1:
        joined = joined._replace(kind=Variability.FEW)
    if joined.decide() in (Variability.PER_CALL, Variability.LOGARITHMIC):
        known = [high for high in highs if high is not None]
        if len(known) == len(highs):
            joined = joined._replace(high=max(known), low=min((low or 0) for low in lows))
        if all(operand.power for operand in operands):
            joined = joined._replace(power=True)
    return joined


def least_certain(scalars: Iterable[AbstractNumber]) -> AbstractNumber:
    """Which layout it is, is not known: what is true of each of them is true."""
    options = list(scalars)
    return next((option for option in options if option.decide() is not Variability.PER_CALL), options[0])

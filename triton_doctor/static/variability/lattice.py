"""How often a value can change while one program runs: the kinds, and how they combine.

A value whose origin is out of sight is undecided: it carries terms, one for each undecided value that it was computed
from, each with the hints that apply to it. `join` unites terms; `AbstractNumber.decide` weighs them.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from triton_doctor.static.variability.axis_context import Toward
from triton_doctor.static.variability.hint_weights import pool, weigh, weights

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from triton_doctor.static.variability.dims import DimFactor, DimProduct
    from triton_doctor.static.variability.hint_weights import AppliedHint
    from triton_doctor.static.variability.trace import Literal, Note, Passed

# Up to so many values, a value that changes per call is one of a handful: a kernel has that many variants at the most.
HANDFUL = 16
# As many powers of two: `min(64, max(16, next_power_of_2(n)))` has three.
POWERS_HANDFUL = 4


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


# For what numbers do thousands of times: before Python 3.12, to take a member from its class is ten times as slow.
_FIXED, _FEW, _PER_MODEL, _LOGARITHMIC, _PER_CALL, _UNKNOWN = Variability
_DATA, _MODEL = Toward


class Term(NamedTuple):
    """An undecided value that another was computed from; `is_power` where only its logarithm counts."""

    hints: frozenset[AppliedHint] = frozenset()
    is_power: bool = False


_NO_HINTS = Term()
_NO_TERMS: frozenset[Term] = frozenset()
_UNSUGGESTED: frozenset[AppliedHint] = frozenset()
_OUT_OF_SIGHT = frozenset({_NO_HINTS})


class AbstractNumber(NamedTuple):
    """A number, a flag or a word, by how often it changes.

    `low` and `high` bound it where that is known, `power` says that it is a power of two, `literal` holds what it is
    in the source. `terms` decide while the kind is UNKNOWN; then `floor` is the greatest kind of the decided operands.
    Of a value that is settled, `terms` are what decided it. `size` is its spelling as a product of axes, `atoms` the
    undecided axes that it was computed from. `from_data` where it was read out of a tensor or is the length of a
    sequence. `is_capped` where `min` cuts it to `high`. `only_shown` where nobody but benchmarks, tests and examples
    passes it, `one_for_some_caller` where it is an axis of which some caller has one item. `is_integer` where it is
    one for certain: not None, not a truth value, not a fraction. `literals` are some that it may be as they are
    written, or a parameter for which callers pass some. `trail` runs from the source to here.
    """

    kind: Variability
    low: int | None = None
    high: int | None = None
    power: bool = False
    literal: object = ...
    terms: frozenset[Term] = _NO_TERMS
    floor: Variability = Variability.FIXED
    size: DimProduct | None = None
    atoms: frozenset[DimFactor] = frozenset()
    from_data: bool = False
    is_capped: bool = False
    only_shown: bool = False
    one_for_some_caller: bool = False
    is_integer: bool = False
    literals: tuple[Literal | Passed, ...] = ()
    trail: tuple[Note, ...] = ()

    def decide(self) -> Variability:
        """The kind, hints and bounds considered. The one place where hints are weighed."""
        kind = self.kind
        if kind is _UNKNOWN:
            kind = decide_terms(self.terms, self.floor)
        if self.power and kind is _PER_CALL:
            kind = _LOGARITHMIC
        if self.high is not None and kind >= _LOGARITHMIC:
            bound, most = self.bound, POWERS_HANDFUL if self.power or kind is _LOGARITHMIC else HANDFUL
            if bound is not None and bound <= most:
                return _FEW
        return kind

    @property
    def bound(self) -> int | None:
        """The most values that it can have; None where there is no telling."""
        if self.high is None:
            return None
        low = 1 if self.low is None else self.low
        if self.power:
            return max(max(self.high, 1).bit_length() - max(low, 1).bit_length() + 1, 1)
        return max(self.high - low + 1, 1)

    @property
    def hints(self) -> frozenset[AppliedHint]:
        """The hints that decide the value, or that come nearest to it; none where its origin decides."""
        terms = self.terms
        return pool([term.hints for term in terms]) if terms else _UNSUGGESTED

    @property
    def rests_on_words(self) -> bool:
        """Whether it would not be decided as it is without what its author wrote for readers."""
        checked = (frozenset(one for one in term.hints if not one.hint.in_words) for term in self.terms)
        terms = frozenset(Term(hints, term.is_power) for hints, term in zip(checked, self.terms, strict=True))
        if terms == self.terms:
            return False
        undecided = self._replace(kind=Variability.UNKNOWN)
        return undecided._replace(terms=terms).decide() is not undecided.decide()

    @property
    def leans_to_data(self) -> bool:
        """Whether it changes with each call, or has a hint that it does."""
        kind = self.decide()
        return kind is _PER_CALL or (kind is _UNKNOWN and weights(self.hints).data > 0)

    @property
    def leans_to_model(self) -> bool:
        """Whether a hint says that it lasts as the model does."""
        return weights(self.hints).model > 0

    def add_hints(self, hints: frozenset[AppliedHint]) -> AbstractNumber:
        """The same value with further hints, which only speak while it is undecided."""
        if not hints or self.kind is not _UNKNOWN:
            return self
        terms = self.terms or _OUT_OF_SIGHT
        further = frozenset([Term(term.hints | hints, term.is_power) for term in terms])
        return self if further == terms else self._replace(terms=further)

    def without(self, row: str) -> AbstractNumber:
        """The same value without the hint of the table that is called `row`."""
        terms = (
            Term(frozenset(one for one in term.hints if one.hint.name != row), term.is_power) for term in self.terms
        )
        return self._replace(terms=frozenset(terms)) if any(one.hint.name == row for one in self.hints) else self

    def typed(self, *, is_integer: bool) -> AbstractNumber:
        """The same value, which is an integer for certain, or need not be one."""
        return self if self.is_integer is is_integer else self._replace(is_integer=is_integer)

    def computed(self) -> AbstractNumber:
        """The same value, which no literal is as it is written."""
        return self._replace(literals=()) if self.literals else self

    def as_size(self) -> AbstractNumber:
        """The same value, which is an integer, and no literal."""
        return self if self.is_integer and not self.literals else self._replace(is_integer=True, literals=())

    def settle(self) -> AbstractNumber:
        """The same value, of which what is seen later says no more."""
        return self._replace(kind=self.decide())

    def stepping(self, note: Note) -> AbstractNumber:
        """The same value, one step further on its way."""
        return AbstractNumber(*self[:-1], (*self.trail, note))


# By kind: UNKNOWN joined with PER_CALL is PER_CALL, and with anything less UNKNOWN.
_RANK = (0, 1, 2, 3, 5, 4)

UNKNOWN = AbstractNumber(kind=Variability.UNKNOWN, terms=_OUT_OF_SIGHT)
FEW = AbstractNumber(kind=Variability.FEW)
FIXED = AbstractNumber(kind=Variability.FIXED)


@lru_cache(maxsize=8192)
def decide_terms(terms: frozenset[Term], floor: Variability = Variability.FIXED) -> Variability:
    """The kind of what is computed from `terms` and a value of the kind `floor`.

    Several terms that are undecided alone may follow the data together.

    Powers of two are weighed apart: what they suggest says nothing of a value that changes with each call.
    """
    plain = _decide_together([term for term in terms if not term.is_power])
    powers = _decide_together([term for term in terms if term.is_power])
    if plain in (Variability.PER_CALL, Variability.UNKNOWN):
        return plain
    if powers is Variability.PER_CALL or floor is Variability.LOGARITHMIC:
        return Variability.LOGARITHMIC
    decided = [kind for kind in (plain, powers) if kind is not None]
    return max([floor, *decided]) if decided else Variability.UNKNOWN


def _decide_together(terms: Collection[Term]) -> Variability | None:
    """What terms of one sort decide; None where there are none."""
    if not terms:
        return None
    sides = [weigh(term.hints) for term in terms]
    if Toward.DATA in sides or (None in sides and weigh(pool([term.hints for term in terms])) is Toward.DATA):
        return Variability.PER_CALL
    return Variability.UNKNOWN if None in sides else Variability.PER_MODEL


def join(numbers: Iterable[AbstractNumber]) -> AbstractNumber:
    """One of `numbers`, or what arithmetic makes of them: the greatest kind, with the trail that leads to it.

    PER_CALL outweighs UNKNOWN, and UNKNOWN everything less. Terms of undecided operands are united.
    """
    operands = list(numbers)
    if not operands:
        return UNKNOWN
    if len(operands) == 1:
        return operands[0]
    decided = [(operand, operand.decide()) for operand in operands]
    greatest = max([kind for _, kind in decided], key=_RANK.__getitem__)
    leading = [operand for operand, kind in decided if kind is greatest]
    atoms: frozenset[DimFactor] = frozenset()
    floor, terms = _FIXED, _NO_TERMS
    for operand, kind in decided:
        # What the kernel does along an axis that may be the model's says nothing of the other operands.
        if operand.atoms and (kind is _PER_CALL or not operand.leans_to_model):
            atoms |= operand.atoms
        least = kind
        if operand.kind is _UNKNOWN and kind is not _FEW:
            own = operand.terms or _OUT_OF_SIGHT
            terms |= frozenset([Term(term.hints, is_power=True) for term in own]) if operand.power else own
            least = operand.floor
        if _RANK[least] > _RANK[floor]:
            floor = least
    kind = floor if not terms or floor is _PER_CALL else _UNKNOWN
    if kind is not _UNKNOWN:
        # An operand whose origin is known decides whatever is suggested of the others.
        is_known = any(not operand.terms for operand in leading)
        terms = _NO_TERMS if is_known else _NO_TERMS.union(*(operand.terms for operand in leading))
    # The clearest: of what is undecided the first whose hints lean most to the data.
    chosen = max(leading, key=lean) if greatest is _UNKNOWN and len(leading) > 1 else leading[0]
    return AbstractNumber(
        kind=kind,
        terms=terms,
        floor=floor if kind is _UNKNOWN else _FIXED,
        atoms=atoms,
        from_data=any(operand.from_data for operand in leading),
        is_integer=all(operand.is_integer for operand in operands),
        trail=chosen.trail,
    )


def lean(operand: AbstractNumber) -> int:
    """How much more its hints weigh toward the data than toward the model."""
    found = weights(operand.hints)
    return found.data - found.model


def choice(numbers: Iterable[AbstractNumber]) -> AbstractNumber:
    """One of `numbers`: as `join`, and one of several fixed values is one of a FEW."""
    operands = list(numbers)
    moving = [operand for operand in operands if operand.kind is not _FIXED]
    joined = join(moving or operands)
    if len(operands) < 2:
        return joined
    further: dict[str, Any] = {}  # all that is said of several, in one copy
    literals = tuple(dict.fromkeys([one for operand in operands for one in operand.literals]))
    is_integer = all(operand.is_integer for operand in operands)
    if joined.is_integer is not is_integer or joined.literals != literals:
        further.update(is_integer=is_integer, literals=literals)
    if moving and all(operand.size == moving[0].size for operand in moving):
        further["size"] = moving[0].size
    if joined.kind is _FIXED and len({repr(operand.literal) for operand in operands}) > 1:
        further["kind"] = _FEW
    elif joined.decide() in (_PER_CALL, _LOGARITHMIC):
        lows = [operand.low for operand in operands]
        highs = [high for operand in operands if (high := operand.high) is not None]
        if len(highs) == len(operands):
            further.update(high=max(highs), low=min((low or 0) for low in lows))
        if all(operand.power for operand in operands):
            further["power"] = True
    return joined._replace(**further) if further else joined

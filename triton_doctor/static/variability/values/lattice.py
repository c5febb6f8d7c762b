"""The lattice of variability, and abstract numbers with their bounds, hints, literals and trail.

A value of unknown origin is undecided. It carries terms, one for each undecided value that it was computed from, each
with its hints. `join` unites terms; `AbstractNumber.decide` weighs them.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from triton_doctor.finding import Step
from triton_doctor.static.python.printing import spell
from triton_doctor.static.variability.hints.axis_context import Toward
from triton_doctor.static.variability.hints.hints import pool_hints, weigh, weights

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.hints.hints import AppliedHint
    from triton_doctor.static.variability.values.dims import DimFactor, DimProduct

# A per-call value with at most so many values is FEW: the kernel has at most that many variants.
HANDFUL = 16
# The same limit for powers of two: `min(64, max(16, next_power_of_2(n)))` has three.
POWERS_HANDFUL = 4


class Variability(IntEnum):
    """How often a value changes, from rare to often; UNKNOWN if it could not be followed."""

    FIXED = 0
    FEW = 1
    PER_MODEL = 2
    LOGARITHMIC = 3
    PER_CALL = 4
    UNKNOWN = 5

    @property
    def label(self) -> str:
        """The name in JSON and settings: `per_call`."""
        return self.name.lower()


# Bound once for speed: before Python 3.12, access to an enum member is ten times as slow.
_FIXED, _FEW, _PER_MODEL, _LOGARITHMIC, _PER_CALL, _UNKNOWN = Variability
_DATA, _MODEL = Toward


class Term(NamedTuple):
    """An undecided value that another was computed from; `is_power` if only its logarithm counts."""

    hints: frozenset[AppliedHint] = frozenset()
    is_power: bool = False


_NO_HINTS = Term()
_NO_TERMS: frozenset[Term] = frozenset()
_UNSUGGESTED: frozenset[AppliedHint] = frozenset()
_OUT_OF_SIGHT = frozenset({_NO_HINTS})


class AbstractNumber(NamedTuple):
    """A number, flag or string, by how often it changes.

    - `low`, `high`: bounds, if known. `power`: it is a power of two. `literal`: its literal in the source. `is_capped`:
      `min` cuts it to `high`.
    - `terms`, `floor`: while the kind is UNKNOWN, the terms that decide it, and the greatest kind of the decided
      operands. After `settle`, `terms` are what decided it.
    - `size`: the value as a product of axes. `undecided_dims`: the undecided axes that it was computed from.
    - `from_data`: read out of a tensor, or the length of a sequence. `only_shown`: passed by benchmarks, tests and
      examples only. `one_for_some_caller`: an axis along which some caller has one item.
    - `is_integer`: certainly an integer; not None, a truth value or a fraction. `literals`: literals that it may be, or
      parameters for which callers pass some.
    - `trail`: the path from the source to here.
    """

    kind: Variability
    low: int | None = None
    high: int | None = None
    power: bool = False
    literal: object = ...
    terms: frozenset[Term] = _NO_TERMS
    floor: Variability = Variability.FIXED
    size: DimProduct | None = None
    undecided_dims: frozenset[DimFactor] = frozenset()
    from_data: bool = False
    is_capped: bool = False
    only_shown: bool = False
    one_for_some_caller: bool = False
    is_integer: bool = False
    literals: tuple[Literal | CallerValues, ...] = ()
    trail: tuple[Note, ...] = ()

    def decide(self) -> Variability:
        """Return the kind, considering hints and bounds. The only place where hints are weighed."""
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
        """Return the maximal number of values; None if unknown."""
        if self.high is None:
            return None
        low = 1 if self.low is None else self.low
        if self.power:
            return max(max(self.high, 1).bit_length() - max(low, 1).bit_length() + 1, 1)
        return max(self.high - low + 1, 1)

    @property
    def hints(self) -> frozenset[AppliedHint]:
        """Return the hints that decide the value or come nearest to it; empty if its origin decides."""
        terms = self.terms
        return pool_hints([term.hints for term in terms]) if terms else _UNSUGGESTED

    @property
    def depends_on_notes(self) -> bool:
        """Return whether the decision would differ without comments, docstrings and names of axes."""
        checked = (frozenset(hint for hint in term.hints if not hint.hint.in_words) for term in self.terms)
        terms = frozenset(Term(hints, term.is_power) for hints, term in zip(checked, self.terms, strict=True))
        if terms == self.terms:
            return False
        undecided = self._replace(kind=Variability.UNKNOWN)
        return undecided._replace(terms=terms).decide() is not undecided.decide()

    @property
    def suggests_data(self) -> bool:
        """Return whether it changes per call, or has a hint that it does."""
        kind = self.decide()
        return kind is _PER_CALL or (kind is _UNKNOWN and weights(self.hints).data > 0)

    @property
    def suggests_model(self) -> bool:
        """Return whether a hint says that it lasts as long as the model."""
        return weights(self.hints).model > 0

    def add_hints(self, hints: frozenset[AppliedHint]) -> AbstractNumber:
        """Return the value with further hints, which only count while it is undecided."""
        if not hints or self.kind is not _UNKNOWN:
            return self
        terms = self.terms or _OUT_OF_SIGHT
        further = frozenset([Term(term.hints | hints, term.is_power) for term in terms])
        return self if further == terms else self._replace(terms=further)

    def without(self, row: str) -> AbstractNumber:
        """Return the value without the hint `row`."""
        terms = (
            Term(frozenset(hint for hint in term.hints if hint.hint.name != row), term.is_power) for term in self.terms
        )
        return self._replace(terms=frozenset(terms)) if any(hint.hint.name == row for hint in self.hints) else self

    def with_integrality(self, *, is_integer: bool) -> AbstractNumber:
        """Return the value with `is_integer` set."""
        return self if self.is_integer is is_integer else self._replace(is_integer=is_integer)

    def without_literals(self) -> AbstractNumber:
        """Return the value without literals, since it was computed."""
        return self._replace(literals=()) if self.literals else self

    def as_size(self) -> AbstractNumber:
        """Return the value as an integer without literals."""
        return self if self.is_integer and not self.literals else self._replace(is_integer=True, literals=())

    def fix_decision(self) -> AbstractNumber:
        """Return the value decided now: hints added later have no effect."""
        return self._replace(kind=self.decide())

    def with_step(self, note: Note) -> AbstractNumber:
        """Return the value with one more step on its path."""
        return AbstractNumber(*self[:-1], (*self.trail, note))


# Rank by kind: UNKNOWN joined with PER_CALL is PER_CALL, with anything less UNKNOWN.
_RANK = (0, 1, 2, 3, 5, 4)

UNKNOWN = AbstractNumber(kind=Variability.UNKNOWN, terms=_OUT_OF_SIGHT)
FEW = AbstractNumber(kind=Variability.FEW)
FIXED = AbstractNumber(kind=Variability.FIXED)


@lru_cache(maxsize=8192)
def decide_terms(terms: frozenset[Term], floor: Variability = Variability.FIXED) -> Variability:
    """Return the kind of a value computed from `terms` and a value of the kind `floor`.

    Several terms that are undecided alone may follow the data together. Powers of two are weighed separately: their
    hints say nothing about a value that changes per call.
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
    """Return what terms of one sort decide; None if there are none."""
    if not terms:
        return None
    sides = [weigh(term.hints) for term in terms]
    if Toward.DATA in sides or (None in sides and weigh(pool_hints([term.hints for term in terms])) is Toward.DATA):
        return Variability.PER_CALL
    return Variability.UNKNOWN if None in sides else Variability.PER_MODEL


def join(numbers: Iterable[AbstractNumber]) -> AbstractNumber:
    """Return the result of arithmetic on `numbers`, or of a choice: the greatest kind, with the path that leads to it.

    PER_CALL outweighs UNKNOWN, and UNKNOWN everything less. The terms of undecided operands are united.
    """
    operands = list(numbers)
    if not operands:
        return UNKNOWN
    if len(operands) == 1:
        return operands[0]
    decided = [(operand, operand.decide()) for operand in operands]
    greatest = max([kind for _, kind in decided], key=_RANK.__getitem__)
    leading = [operand for operand, kind in decided if kind is greatest]
    undecided_dims: frozenset[DimFactor] = frozenset()
    floor, terms = _FIXED, _NO_TERMS
    for operand, kind in decided:
        # A kernel's use of an axis that may be the model's says nothing about the other operands.
        if operand.undecided_dims and (kind is _PER_CALL or not operand.suggests_model):
            undecided_dims |= operand.undecided_dims
        least = kind
        if operand.kind is _UNKNOWN and kind is not _FEW:
            own = operand.terms or _OUT_OF_SIGHT
            terms |= frozenset([Term(term.hints, is_power=True) for term in own]) if operand.power else own
            least = operand.floor
        if _RANK[least] > _RANK[floor]:
            floor = least
    kind = floor if not terms or floor is _PER_CALL else _UNKNOWN
    if kind is not _UNKNOWN:
        # An operand of known origin outweighs hints about the others.
        is_known = any(not operand.terms for operand in leading)
        terms = _NO_TERMS if is_known else _NO_TERMS.union(*(operand.terms for operand in leading))
    # Among undecided operands, take the path of the one with the strongest hints toward the data.
    chosen = max(leading, key=data_margin) if greatest is _UNKNOWN and len(leading) > 1 else leading[0]
    return AbstractNumber(
        kind=kind,
        terms=terms,
        floor=floor if kind is _UNKNOWN else _FIXED,
        undecided_dims=undecided_dims,
        from_data=any(operand.from_data for operand in leading),
        is_integer=all(operand.is_integer for operand in operands),
        trail=chosen.trail,
    )


def data_margin(operand: AbstractNumber) -> int:
    """Return the weight of its hints toward the data minus that toward the model."""
    found = weights(operand.hints)
    return found.data - found.model


def choice(numbers: Iterable[AbstractNumber]) -> AbstractNumber:
    """Return one of `numbers`: as `join`, but one of several fixed values is FEW."""
    operands = list(numbers)
    moving = [operand for operand in operands if operand.kind is not _FIXED]
    joined = join(moving or operands)
    if len(operands) < 2:
        return joined
    further: dict[str, Any] = {}  # shares one copy of equal parts
    literals = tuple(dict.fromkeys([literal for operand in operands for literal in operand.literals]))
    is_integer = all(operand.is_integer for operand in operands)
    if joined.is_integer is not is_integer or joined.literals != literals:
        further.update(is_integer=is_integer, literals=literals)
    if moving and all(operand.size == moving[0].size for operand in moving):
        further["size"] = moving[0].size
    if joined.kind is _FIXED and len({repr(operand.literal) for operand in operands}) > 1:
        further["kind"] = _FEW
    elif joined.decide() in (_PER_CALL, _LOGARITHMIC, _FIXED):
        lows = [operand.low for operand in operands]
        highs = [high for operand in operands if (high := operand.high) is not None]
        if len(highs) == len(operands):
            further.update(high=max(highs), low=min((low or 0) for low in lows))
        if all(operand.power for operand in operands):
            further["power"] = True
    return joined._replace(**further) if further else joined


class Note(NamedTuple):
    """A step at a line of a file; `{}` in `text` stands for the spelled expression `expr`."""

    path: str
    line: int
    text: str
    expr: Expr | None = None

    def step(self) -> Step:
        """Return the step in the form of findings."""
        return Step(self.path, self.line, self.text if self.expr is None else self.text.replace("{}", spell(self.expr)))


class Literal(NamedTuple):
    """A literal and its line; `kind` distinguishes equal values such as 1, 1.0 and True."""

    value: object
    kind: type
    path: str
    line: int


class CallerValues(NamedTuple):
    """The arguments of callers for the parameter `name` of `function`, or its default."""

    function: Function
    name: str

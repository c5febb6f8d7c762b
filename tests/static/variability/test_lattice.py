"""The laws of joining and of deciding, for any values and any hints."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from triton_doctor.static.variability.hints.axis_context import Toward
from triton_doctor.static.variability.hints.hints import HINTS, AppliedHint
from triton_doctor.static.variability.values.lattice import AbstractNumber, Term, Variability, join

# UNKNOWN lies beside LOGARITHMIC: an undecided power of two may turn out to be either.
RANK = {kind: int(kind) for kind in Variability} | {Variability.UNKNOWN: int(Variability.LOGARITHMIC)}

applied = st.builds(AppliedHint, st.sampled_from(HINTS), st.sampled_from(["a.py", "b.py"]), st.integers(1, 3))
terms = st.builds(Term, st.frozensets(applied, max_size=4), st.booleans())
undecided = st.builds(
    partial(AbstractNumber, Variability.UNKNOWN),
    terms=st.frozensets(terms, min_size=1, max_size=3),
    floor=st.sampled_from([Variability.FIXED, Variability.FEW, Variability.PER_MODEL, Variability.LOGARITHMIC]),
)
decided = st.builds(AbstractNumber, st.sampled_from([kind for kind in Variability if kind is not Variability.UNKNOWN]))
numbers = st.one_of(undecided, undecided, decided)
bounds = st.one_of(st.none(), st.integers(0, 40))
bounded = st.builds(lambda number, high: number._replace(low=1, high=high), numbers, bounds)


def decision(number: AbstractNumber) -> tuple[object, ...]:
    kind = number.decide()
    return (kind, number.hints if kind is Variability.PER_CALL and number.kind is Variability.UNKNOWN else None)


@given(bounded)
def test_join_of_a_value_with_itself_decides_as_the_value(one: AbstractNumber) -> None:
    assert join([one, one]).decide() is one.decide()


@given(bounded, bounded)
def test_join_is_commutative(one: AbstractNumber, other: AbstractNumber) -> None:
    assert decision(join([one, other])) == decision(join([other, one]))


@given(bounded, bounded, bounded)
def test_join_is_associative(one: AbstractNumber, two: AbstractNumber, three: AbstractNumber) -> None:
    left, right = join([join([one, two]), three]), join([one, join([two, three])])

    assert left.decide() is right.decide() is join([one, two, three]).decide()


@given(bounded, bounded)
def test_join_is_no_less_than_its_operands(one: AbstractNumber, other: AbstractNumber) -> None:
    assert RANK[join([one, other]).decide()] >= RANK[one.decide()]


@given(numbers, bounded, applied)
def test_hint_never_moves_a_value_away_from_what_it_points_to(
    one: AbstractNumber, other: AbstractNumber, hint: AppliedHint
) -> None:
    before = RANK[join([one, other]).decide()]

    after = RANK[join([one.add_hints(frozenset({hint})), other]).decide()]

    assert after >= before if hint.hint.toward is Toward.DATA else after <= before


@given(numbers)
def test_no_hints_change_nothing(one: AbstractNumber) -> None:
    assert one.add_hints(frozenset()) == one


@given(undecided, applied)
def test_hint_that_is_seen_at_two_lines_weighs_once(one: AbstractNumber, hint: AppliedHint) -> None:
    once = one.add_hints(frozenset({hint}))

    assert once.add_hints(frozenset({hint._replace(line=9)})).decide() is once.decide()

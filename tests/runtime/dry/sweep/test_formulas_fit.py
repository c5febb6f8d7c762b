"""A formula is given only where it agrees with what the values came from, also where nobody looked."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_doctor.runtime.dry.sweep.dimensions import choose_points, far_points, read_dimensions
from triton_doctor.runtime.dry.sweep.learning import (
    Samples,
    choose_formula,
    find_challenges,
    find_difference,
    find_formulas,
)
from triton_doctor.runtime.dry.sweep.size_formulas import Formula, Growth, cdiv, next_power_of_2, size

BATCH, LENGTH = size("batch"), size("length")
SPANS = {"batch": range(1, 9), "length": range(1, 4097)}
ROUNDS = 24


def learn(compute, spans=SPANS):
    """The formula for `compute`, which maps sizes to a value, and the samples from which it was made."""
    dimensions = read_dimensions(spans)
    made_from, held_back = choose_points(dimensions)
    samples = Samples(dimensions=dimensions, values={}, held_back=frozenset(held_back))
    for point in (*made_from, *held_back, *far_points(dimensions)):
        samples.values[point] = compute(**samples.sizes(point))
    formulas, challenged = find_formulas(samples), set()
    for _ in range(ROUNDS):
        point = find_difference(formulas, samples)
        points = [] if point is None else [point]
        if not points and formulas and formulas[0] not in challenged:
            challenged.add(formulas[0])
            points = find_challenges(formulas[0], samples)
        if not points:
            break
        for each in points:
            samples.values[each] = compute(**samples.sizes(each))
        formulas = find_formulas(samples)
    return choose_formula(formulas, samples), samples


@pytest.mark.parametrize(
    ("compute", "text", "growth"),
    [
        (lambda batch, length: length, "length", Growth.UNBOUNDED),
        (lambda batch, length: cdiv(batch * length, 132), "cdiv(batch*length, 132)", Growth.UNBOUNDED),
        (lambda batch, length: next_power_of_2(length), "next_power_of_2(length)", Growth.LOG2),
        (lambda batch, length: min(length, 64), "min(length, 64)", Growth.BOUNDED),
        (lambda batch, length: length % 16 == 0, "length % 16 == 0", Growth.BOUNDED),
        (lambda batch, length: batch * length % 16 == 0, "batch*length % 16 == 0", Growth.BOUNDED),
        (lambda batch, length: cdiv(length, 1024), "cdiv(length, 1024)", Growth.UNBOUNDED),
        (lambda batch, length: 3 * length + 2, "3*length + 2", Growth.UNBOUNDED),
        (lambda batch, length: batch + length, "batch + length", Growth.UNBOUNDED),
        (lambda batch, length: batch * cdiv(length, 64), "batch*cdiv(length, 64)", Growth.UNBOUNDED),
        (lambda batch, length: length // 100, "length // 100", Growth.UNBOUNDED),
        (lambda batch, length: length % 24, "length % 24", Growth.BOUNDED),
        (
            lambda batch, length: min(max(next_power_of_2(length), 16), 256),
            "min(max(next_power_of_2(length), 16), 256)",
            Growth.BOUNDED,
        ),
        (lambda batch, length: length > 1000, "length > 1000", Growth.BOUNDED),
        (
            lambda batch, length: 4 if length <= 100 else 8 if length <= 777 else 16,
            "4 if length <= 100 else 8 if length <= 777 else 16",
            Growth.BOUNDED,
        ),
        (lambda batch, length: batch == 1, "batch == 1", Growth.BOUNDED),
        (lambda batch, length: batch * length * 2 + length, "length + 2*batch*length", Growth.UNBOUNDED),
    ],
)  # fmt: skip
def test_formula_and_growth_are_those_of_the_program(compute, text, growth):
    formula, _ = learn(compute)

    assert (str(formula), formula and formula.growth) == (text, growth)


@pytest.mark.parametrize(
    "compute",
    [
        pytest.param(lambda batch, length: hash((batch, length)) % 97, id="noise"),
        pytest.param(lambda batch, length: length * length % 31, id="a square's rest"),
        pytest.param(lambda batch, length: length.bit_count(), id="a count of bits"),
    ],
)
def test_no_formula_is_given_for_what_has_none(compute):
    formula, _ = learn(compute)

    assert formula is None


def test_limit_is_exact_also_where_a_point_held_back_lies_beside_it():
    formula, _ = learn(lambda length: length > 1000, {"length": range(1, 4097)})

    assert str(formula) == "length > 1000"


def test_no_formula_is_given_while_a_point_is_left_that_would_decide():
    dimensions = read_dimensions({"length": range(1, 4097)})
    values = {(size,): size > 1000 for size in (1, 2, 500, 925, 1067, 2000, 4096)}
    samples = Samples(dimensions=dimensions, values=values)
    formulas = find_formulas(samples)

    assert len(formulas) > 1
    assert choose_formula(formulas, samples) is None


def test_listed_sizes_that_cannot_tell_two_formulas_apart_give_none():
    formula, _ = learn(next_power_of_2_of_length, {"length": (1, 2, 4, 8, 16, 32, 64)})

    assert formula is None


def next_power_of_2_of_length(length):
    return next_power_of_2(length)


def _steps(source):
    number = st.sampled_from((2, 3, 8, 16, 24, 64, 100, 128, 132, 256, 777, 1024))
    yield source
    for name in ("cdiv", "div", "mod"):
        yield st.builds(lambda inner, by, name=name: Formula(name, (inner, by)), source, number)
    for name in ("min", "max"):
        yield st.builds(lambda inner, by, name=name: Formula(name, (inner, by)), source, number)
    yield st.builds(lambda inner: Formula("next_power_of_2", (inner,)), source)
    yield st.builds(lambda inner, by: Formula("sum", (inner, by)), source, number)


SOURCES = st.sampled_from((BATCH, LENGTH, Formula("product", (BATCH, LENGTH)), Formula("sum", (BATCH, LENGTH))))
ONCE = st.one_of(*_steps(SOURCES))
FORMULAS = st.one_of(*_steps(ONCE), st.builds(lambda one, other: Formula("product", (one, other)), ONCE, ONCE))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(FORMULAS)
def test_formula_agrees_with_what_made_the_values_on_points_that_nobody_saw(truth):
    formula, _ = learn(lambda **sizes: truth.evaluate(sizes))

    chance = random.Random(7)
    for _ in range(300):
        sizes = {"batch": chance.randint(1, 8), "length": chance.randint(1, 4096)}
        assert formula is None or formula.evaluate(sizes) == truth.evaluate(sizes), (str(formula), str(truth), sizes)


def test_deciding_points_keep_to_a_list_of_sizes():
    dimensions = read_dimensions({"length": list(range(64, 4096, 64))})
    samples = Samples(dimensions=dimensions, values={(each,): each // 64 for each in (64, 128, 320, 640, 1024, 4032)})
    formulas = find_formulas(samples)

    assert "cdiv(length, 64)" in map(str, formulas)
    assert find_difference(formulas, samples) is None
    assert str(choose_formula(formulas, samples)) == "length // 64"

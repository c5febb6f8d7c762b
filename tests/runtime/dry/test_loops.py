"""Loops that only data ends get the other answer, and nothing else does."""

import asyncio
import itertools
import time

import pytest

import triton_doctor
from triton_doctor.runtime.dry import loops

MOST = 300
TURNS = 2 * MOST


@pytest.fixture(autouse=True)
def few_turns(monkeypatch):
    monkeypatch.setattr(loops, "MOST_ASKED", MOST)


def ones():
    import torch

    return torch.randn(8, device="cuda")


def counted():
    """Turns of a loop, with an end by which a test fails that would not end."""
    return iter(range(10 * MOST))


def total(x):
    return x.sum().item()


def while_test():
    x, turns = ones(), counted()
    while total(x) < 100:
        next(turns)


def break_after_names():
    x, turns = ones(), counted()
    while True:
        next(turns)
        error = total(x) / 2
        is_small = error < 0.1
        if is_small:
            break


def returned_by_a_helper():
    def is_done():
        largest = ones().max().item()
        if largest > 5:
            return True
        return total(ones()) > 100

    turns = counted()
    while not is_done():
        next(turns)


def kept_in_an_attribute():
    class Solver:
        done = False

        def step(self):
            self.done = total(ones()) > 100

    solver, turns = Solver(), counted()
    while not solver.done:
        solver.step()
        next(turns)


def in_a_generator():
    def values(x, turns):
        while not (x > 0.99).any():
            yield next(turns)

    for _ in values(ones(), counted()):
        pass


def awaited():
    async def is_done():
        await asyncio.sleep(0)
        return total(ones()) > 100

    async def loop():
        turns = counted()
        while not await is_done():
            next(turns)

    asyncio.run(loop())


def in_a_comprehension():
    turns = counted()
    while any(total(x) < 100 for x in [ones(), ones()]):
        next(turns)


def with_a_limit_of_time():
    x, begin, turns = ones(), time.monotonic(), counted()
    while total(x) < 100:
        next(turns)
        if time.monotonic() - begin > 1000 and total:
            break


def over_what_has_no_end():
    turns = counted()
    for _ in itertools.count():
        next(turns)
        if (ones() < 0).nonzero().numel() == 0:
            break


@pytest.mark.parametrize(
    "loop",
    [
        *(while_test, break_after_names, returned_by_a_helper, kept_in_an_attribute, in_a_generator, awaited),
        *(in_a_comprehension, with_a_limit_of_time, over_what_has_no_end),
    ],
)
def test_loop_that_only_data_ends_is_ended_and_named(dry, loop):
    loop()

    assert [
        guess.question for guess in dry.guesses if f"asked {MOST} times by the loop at test_loops.py" in guess.question
    ]


def test_each_dry_run_of_a_process_names_the_limit_that_ended_its_loop(monkeypatch):
    for most in (MOST, 2 * MOST):
        monkeypatch.setattr(loops, "MOST_ASKED", most)
        with triton_doctor.dry_run() as recording:
            while_test()

        ended = [guess.question for guess in recording.guesses if "answered otherwise" in guess.question]
        assert len(ended) == 1
        assert f"asked {most} times by the loop at test_loops.py" in ended[0]


def check_in_a_for():
    import torch

    for _ in range(TURNS):
        if torch.isnan(ones()).any():
            raise AssertionError


def beside_a_counter():
    n = 0
    while total(ones()) < 100:
        n += 1
        if n == TURNS:
            break
    assert n == TURNS


def executions_of_an_inner_loop():
    for _ in range(TURNS):
        while True:
            value = total(ones())
            assert value == 1
            if value <= 1:
                break


def activations_of_a_function():
    def shrink(_):
        while True:
            value = total(ones())
            assert value == 1
            if value <= 1:
                return

    list(map(shrink, range(TURNS)))


def check_in_the_for_of_a_helper():
    def train():
        return not any(total(ones()) > 5 for _ in range(TURNS))

    while not train():
        raise AssertionError


def beside_an_iterator_that_ends():
    values = iter(range(TURNS))
    while True:
        try:
            next(values)
        except StopIteration:
            break
        assert total(ones()) == 1
        if total(ones()) > 3:
            raise AssertionError


@pytest.mark.parametrize(
    "loop",
    [
        *(check_in_a_for, beside_a_counter, executions_of_an_inner_loop, activations_of_a_function),
        *(check_in_the_for_of_a_helper, beside_an_iterator_that_ends),
    ],
)
def test_everywhere_else_the_answer_stays(dry, loop):
    loop()

    assert not [guess.question for guess in dry.guesses if "answered otherwise" in guess.question]

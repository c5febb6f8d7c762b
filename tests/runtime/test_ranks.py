"""What the ranks of a job did alike and apart, and who was slowest in which step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.report.recording.ranks import name_ranks, tell_ranks
from triton_doctor.runtime.program_event import StepEvent
from triton_doctor.runtime.ranks_account import account_ranks
from triton_doctor.runtime.recording import Recording

if TYPE_CHECKING:
    from triton_doctor.runtime.event import CompileEvent, Event

RANKS = Path(__file__).parents[2] / "fixtures" / "runs" / "two_ranks.jsonl"
BEGUN_NS = 10**18


def a_compile() -> tuple[Recording, CompileEvent]:
    one = next(one for one in Recording.read_each(RANKS) if one.compiles)
    return one, replace(one.compiles[0], stages_us=(("ir", 1_000_000),))


def rank(number: int, lengths: list[int], *steps: tuple[int, float, bool], tier: str = "compiled") -> Recording:
    """A rank that compiled `fill_kernel` for `lengths`; `steps` are (number, seconds, whether it compiled in it)."""
    one, compiled = a_compile()
    events: list[Event] = [
        replace(
            compiled,
            key=replace(compiled.key, constants=(("length", length), ("BLOCK", 64))),
            rank=number,
            tier=tier,
            at_ns=BEGUN_NS + index,
        )
        for index, length in enumerate(lengths)
    ]
    events += [
        StepEvent(
            kind="step",
            number=step,
            started_at_ns=BEGUN_NS,
            at_ns=BEGUN_NS + int(took * 1e9),
            thread=1,
            rank=number,
            compiles_ns=(BEGUN_NS,) if compiles else (),
        )
        for step, took, compiles in steps
    ]
    return Recording(headers=[replace(one.headers[0], rank=number, pid=number)], events=events)


@pytest.mark.parametrize(
    ("ranks", "told"),
    [
        pytest.param(
            [*(rank(number, [16]) for number in (0, 1, 2)), rank(3, [16, *range(17, 29)])],
            [
                "1 variant on all 4 ranks",
                "rank 3 compiled 12 variants of `fill_kernel` that no other rank did: `length` 17 to 28",
            ],
            id="one rank has values of its own",
        ),
        pytest.param(
            [rank(0, [16, 17]), rank(1, [16, 17]), rank(2, [16])],
            [
                "1 variant on all 3 ranks",
                "ranks 0 and 1 compiled 1 variant of `fill_kernel` that the other did not: `length` 17",
            ],
            id="all but one",
        ),
        pytest.param(
            [rank(0, [16, 17], tier="loaded from disk"), rank(1, [16])],
            [
                "1 variant on all 2 ranks",
                "rank 0 compiled or loaded 1 variant of `fill_kernel` that no other rank did: `length` 17",
            ],
            id="from disk",
        ),
        pytest.param([rank(0, [16]), rank(1, [16])], [], id="all the same"),
        pytest.param([rank(0, [16, 17])], [], id="one rank is no job of ranks"),
    ],
)
def test_variants_that_only_some_ranks_had_are_told_by_their_own_values(
    ranks: list[Recording], told: list[str]
) -> None:
    assert list(tell_ranks(account_ranks(ranks))) == told


def test_the_rank_that_made_a_step_wait_is_named_beside_the_slowest() -> None:
    ranks = [
        rank(0, [16], (1, 0.2, False), (2, 1.3, False), (3, 0.2, False)),
        rank(1, [16], (1, 0.3, False), (2, 1.2, True), (3, 0.3, False)),
    ]

    assert list(tell_ranks(account_ranks(ranks))) == [
        "step 2: rank 1 compiled, loaded or tuned for longest, 1.00 s; the step took 1.30 s, longest on rank 0",
        "rank 1 was the slowest in 2 of 3 steps",
    ]


@pytest.mark.parametrize(
    ("ranks", "name"),
    [
        ((3,), "rank 3"),
        ((0, 1, 2, 3), "ranks 0 to 3"),
        ((1, 4, 9), "ranks 1, 4 and 9"),
        (tuple(range(0, 20, 2)), "10 ranks"),
    ],
)
def test_ranks_are_named_in_few_words(ranks: tuple[int, ...], name: str) -> None:
    assert name_ranks(ranks) == name

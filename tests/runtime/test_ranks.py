"""What the ranks of a job did alike and apart, and who waited for whom in which step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.report.recording.ranks import describe_ranks, name_ranks
from triton_doctor.runtime.kernel_account import account_kernels
from triton_doctor.runtime.program_event import StepEvent
from triton_doctor.runtime.ranks_account import account_ranks
from triton_doctor.runtime.recording import Recording

if TYPE_CHECKING:
    from triton_doctor.runtime.event import CompileEvent, Event
    from triton_doctor.runtime.ranks_account import RanksAccount

FIXTURES = Path(__file__).parents[2] / "fixtures"
RANKS = FIXTURES / "runs" / "two_ranks.jsonl"
WAITING = FIXTURES / "recordings" / "ranks" / "waiting_ranks.jsonl"
NCCL = WAITING.parent
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
    assert list(describe_ranks(account_ranks(ranks))) == told


def test_who_waited_for_whom_and_how_long_is_told_beside_the_slowest() -> None:
    ranks = [
        rank(0, [16], (1, 0.2, False), (2, 1.3, False), (3, 0.2, False), (4, 0.2, False)),
        rank(1, [16], (1, 0.3, False), (2, 1.2, True), (3, 0.3, False), (4, 0.3, False)),
    ]

    assert list(describe_ranks(account_ranks(ranks))) == [
        "step 2: rank 0 waited 1.10 s for rank 1, which compiled, loaded or tuned for 1.00 s",
        "rank 1 was the slowest by more than 5% in 2 of 4 steps",
    ]


def test_a_wait_that_the_host_meets_in_the_next_step_is_told_of_the_step_that_compiled() -> None:
    quiet = [(number, 0.2, False) for number in (3, 4, 5)]
    ranks = [
        rank(0, [16], (1, 0.2, False), (2, 1.2, False), *quiet),
        rank(1, [16], (1, 1.2, True), (2, 0.2, False), *quiet),
    ]

    assert list(describe_ranks(account_ranks(ranks))) == [
        "step 1: rank 0 waited 1.00 s for rank 1, which compiled, loaded or tuned for 1.00 s",
    ]


def test_the_wait_in_a_collective_is_told_as_the_program_measured_it() -> None:
    """Rank 0 printed that it waited 0.325 s in the all-reduce of step 6, and 0.509 s in that of step 13."""
    lines = list(describe_ranks(account_ranks(Recording.read_each(WAITING))))

    assert lines[1:4] == [
        "rank 1 compiled 2 variants of `fill_kernel` that no other rank did: `length` 22 and 29",
        "step 13: rank 0 waited 0.51 s for rank 1, which compiled, loaded or tuned for 0.50 s",
        "step 6: rank 0 waited 0.32 s for rank 1, which compiled, loaded or tuned for 0.29 s",
    ]


def test_differences_within_noise_make_no_rank_the_slowest() -> None:
    steps = [(number, 0.2 + (number % 2) * 0.000_9, False) for number in range(1, 20)]

    assert list(describe_ranks(account_ranks([rank(0, [16], *steps), rank(1, [16], *reversed(steps[1:]))]))) == []


def test_without_steps_the_time_in_which_one_rank_compiled_alone_is_told() -> None:
    both, alone = (rank(number, [16]) for number in (0, 1))
    later = replace(alone.compiles[0], at_ns=BEGUN_NS + 2 * 10**9, process_us=0)

    rank_1 = Recording(headers=alone.headers, events=[*alone.events, later])

    assert " ".join(describe_ranks(account_ranks([both, rank_1]))) == (
        "rank 1 compiled, loaded or tuned for 1.00 s while rank 0 did not: rank 0 waits up to as long where it needs "
        "data of rank 1 (`triton_doctor.step()` shows in which step)"
    )


def test_compiles_that_took_no_time_as_in_a_dry_run_leave_no_rank_alone() -> None:
    ranks = [rank(number, [16]) for number in (0, 1)]
    instant = [
        replace(one, events=[replace(event, stages_us=(), process_us=0, at_ns=BEGUN_NS + number)])
        for number, one in enumerate(ranks)
        for event in one.compiles
    ]

    assert account_ranks(instant).alone == ()


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


# Seconds that rank 0 was in `all_reduce` by its own clock, in each step in which rank 1 alone compiled (2 H200, NCCL).
MEASURED_S = {6: 0.19837, 9: 0.22376, 12: 0.22362, 15: 0.24179, 18: 0.23504, 21: 0.20543, 24: 0.16556}


def ranks_of(name: str) -> RanksAccount:
    files = sorted((NCCL / name).glob("*.jsonl"))
    account = account_ranks([recording for file in files for recording in Recording.read_each(file)])
    assert account is not None
    return account


def test_waits_in_collectives_of_nccl_are_those_that_the_program_measured() -> None:
    account = ranks_of("nccl_train")

    waited = {step.number: step.waited_us / 1e6 for step in account.steps if step.compiling == 1}

    assert waited.keys() == MEASURED_S.keys()
    assert all(waited[step] == pytest.approx(seconds, rel=0.1) for step, seconds in MEASURED_S.items())
    assert not [line for line in describe_ranks(account) if "slowest" in line]


def test_a_minute_of_compiling_on_one_rank_is_a_minute_of_waiting_on_the_other() -> None:
    lines = list(describe_ranks(ranks_of("nccl_slow")))

    assert "step 4: rank 0 waited 72.32 s for rank 1, which compiled, loaded or tuned for 72.31 s" in lines


def test_second_device_of_a_process_takes_what_the_first_compiled() -> None:
    kernels = account_kernels(list(Recording.read_each(NCCL / "nccl_devices" / "process.jsonl")))

    (kernel,) = kernels
    assert {cause.code for cause in kernel.causes} == {"TRD701", "TRD709"}
    assert kernel.compiled == 1
    assert kernel.from_disk == 1

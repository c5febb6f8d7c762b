"""Counting compiles against limits."""

import pytest

from triton_doctor.runtime.compile_limits import Limit, find_excess, limits_of
from triton_doctor.runtime.event import COMPILED, LOADED, CompileEvent, CompileKey, KernelName


def compiles(name, count, *, tier=COMPILED, path="m.py", rank=None):
    event = CompileEvent(
        kernel=KernelName(name=name, module="m", path=path, line=1),
        key=CompileKey(signature=()),
        tier=tier,
        stages_us=(),
        launch_site=None,
        device=0,
        thread=1,
        rank=rank,
        at_ns=0,
    )
    return [event] * count


def exceeding(events, *limits):
    return [(excess.kernel.name, len(excess.events)) for excess in find_excess(events, limits)]


@pytest.mark.parametrize(
    ("at_most", "found"),
    [
        pytest.param(3, [], id="as many as allowed"),
        pytest.param(2, [("_rope", 3)], id="one more"),
        pytest.param(0, [("_rope", 3), ("_norm", 1)], id="none allowed"),
    ],
)
def test_each_kernel_is_counted_for_itself(at_most, found):
    assert exceeding(compiles("_rope", 3) + compiles("_norm", 1), Limit(at_most=at_most)) == found


def test_tier_counts_only_its_own():
    events = compiles("_rope", 3) + compiles("_rope", 2, tier=LOADED)

    assert exceeding(events, Limit(at_most=2, tier=COMPILED)) == [("_rope", 3)]
    assert exceeding(events, Limit(at_most=2, tier=LOADED)) == []
    assert exceeding(events, Limit(at_most=4)) == [("_rope", 5)]


def test_longest_pattern_of_the_budgets_decides():
    limits = limits_of([("*", 1), ("_rope*", 3), ("_rope_back*", 0)])

    assert exceeding(compiles("_rope", 3) + compiles("_rope_back", 1) + compiles("_norm", 2), *limits) == [
        ("_rope_back", 1),
        ("_norm", 2),
    ]


def test_kernels_of_one_name_and_ranks_are_counted_apart():
    events = compiles("k", 1) + compiles("k", 1, path="other.py") + compiles("k", 1, rank=1)

    assert exceeding(events, Limit(at_most=1)) == []

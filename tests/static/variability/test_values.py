"""Values to the parts of them that somebody asks for."""

from __future__ import annotations

from functools import partial

import pytest

from triton_doctor.static.variability.values.lattice import FEW, FIXED, UNKNOWN, AbstractNumber
from triton_doctor.static.variability.values.values import TupleValue


def test_item_that_nobody_asks_for_is_not_evaluated() -> None:
    def evaluated() -> AbstractNumber:
        pytest.fail("nobody asked for it")

    pair = TupleValue([partial(evaluated), FEW])

    assert pair.at(1) is FEW


def test_item_is_evaluated_once() -> None:
    waiting = [FEW, FIXED]
    pair = TupleValue([partial(waiting.pop)])

    assert (pair.at(0), pair.at(0)) == (FIXED, FIXED)


def test_item_that_rests_on_itself_is_unknown() -> None:
    def item() -> AbstractNumber:
        found = made[0].at(0)
        assert isinstance(found, AbstractNumber)
        return found

    made = [TupleValue([partial(item)])]

    assert made[0].at(0) is UNKNOWN


def test_item_too_deep_to_evaluate_is_asked_for_again() -> None:
    def item() -> AbstractNumber:
        if not depths.pop():
            raise RecursionError
        return FEW

    depths = [True, False]
    one = TupleValue([partial(item)])
    with pytest.raises(RecursionError):
        one.at(0)

    assert one.at(0) is FEW

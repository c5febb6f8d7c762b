"""A fixed number of trials of each kind on the fixtures: enough to notice what broke, and the same ones each time."""

from __future__ import annotations

import importlib

import pytest

from tests.fuzz.driver import Course, run
from tests.fuzz.sources import fixtures


@pytest.mark.parametrize(
    ("kind", "count"),
    [("python", 80), ("settings", 120), ("fixes", 15), ("mentions", 40), ("recordings", 40)],
)
def test_damaged_input_neither_crashes_nor_hangs_nor_differs(kind: str, count: int) -> None:
    make = importlib.import_module(f"tests.fuzz.{kind}").make_trial

    report = run(Course(kind=kind, make=make, sources=fixtures(), count=count))

    assert report.trials == count
    assert [f"{one.how} in trial {one.number}: {one.what}" for one in report.failures] == []

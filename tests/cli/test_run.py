"""`triton-doctor run` through the library of the command line, as `main` calls it; the console script goes past it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]


@pytest.mark.parametrize(
    ("program", "status"),
    [
        pytest.param(["-c", "exit(3)"], 3, id="code"),
        pytest.param(["-m", "platform", "--terse"], 0, id="module with options"),
        pytest.param(["sh", "-c", "kill -TERM $$"], 143, id="killed"),
        pytest.param(["gone.py", "-o", "--live"], 2, id="no such script"),
    ],
)
@pytest.mark.parametrize("ours", [[], ["--live", "--max-compiles", "2"]], ids=["plain", "with options"])
def test_program_keeps_its_options_and_its_status(
    doctor: Doctor, ours: list[str], program: list[str], status: int
) -> None:
    assert doctor("run", *ours, *program).status == status


def test_help_lists_what_it_takes(doctor: Doctor) -> None:
    shown = doctor("run", "--help").out

    for option in ("--output", "--target", "--max-compiles", "--warmup-seconds", "--live"):
        assert option in shown

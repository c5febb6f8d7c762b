"""Launches whose kernel was not found are counted, and listed with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

HEAD = "import triton\nfrom elsewhere import away\n\n@triton.jit\ndef k(x):\n    pass\n\n"


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        pytest.param("def run(fn, x):\n    fn[(1,)](x)\n", "`fn` is an argument of `run`", id="an argument"),
        pytest.param("def run(x):\n    away[(1,)](x)\n", "`away` comes from `elsewhere`", id="imported"),
        pytest.param("def run(x):\n    make()[(1,)](x)\n", "`make(...)` returns no kernel in sight", id="made"),
        pytest.param("def run(x):\n    made = make()\n    made[(1,)](x)\n", "`make(...)` returns", id="made before"),
        pytest.param("class A:\n    def run(self, x):\n        self.fn[(1,)](x)\n", "`self.fn` is an attr", id="kept"),
        pytest.param("def run(x, n):\n    TABLE[n][(1,)](x)\n", "it is an entry of `TABLE`", id="in a table"),
    ],
)  # fmt: skip
def test_launch_whose_kernel_is_not_found_is_counted_and_explained(
    doctor: Callable[..., Outcome], write: Callable[..., Path], program: str, reason: str
) -> None:
    write("a.py", f"{HEAD}{program}\ndef other(x):\n    k[(1,)](x)\n")

    outcome = doctor("check", "--show", "unresolved", ".")

    assert "2 launches (1 of unknown kernels)" in outcome.out
    (line,) = (line for line in outcome.err.splitlines() if "not resolved" in line)
    assert line.startswith("a.py:")
    assert reason in line


def test_nothing_is_said_where_all_are_found(doctor: Callable[..., Outcome], write: Callable[..., Path]) -> None:
    write("a.py", f"{HEAD}def run(x):\n    k[(1,)](x)\n")

    outcome = doctor("check", "--show", "unresolved", ".")

    assert "1 launch\n" in outcome.out
    assert outcome.err == ""


def test_file_with_code_of_a_kernel_and_no_kernel_is_named(
    doctor: Callable[..., Outcome], write: Callable[..., Path]
) -> None:
    body = "def k(x, n: const):\n    i = tl.program_id(0)\n"
    write("own.py", f"import triton.language as tl\nfrom mine import const, compiled\n\n@compiled\n{body}")
    write("pallas.py", "import triton, jax.experimental.pallas as pl\n\ndef k(x):\n    i = pl.program_id(0)\n")
    write("a.py", f"{HEAD}def run(x):\n    k[(1,)](x)\n")

    outcome = doctor("check", "--show", "unresolved", ".")

    assert [line.partition(": no kernel")[0] for line in outcome.err.splitlines()] == ["own.py:6"]

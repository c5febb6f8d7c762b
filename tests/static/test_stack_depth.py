"""What is found does not depend on how deep the doctor is called from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

PROGRAM = """\
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n, m: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x_ptr + o, n, mask=o < m)


def f(x, lens: list[int], q):
    b, h, s, d = x.shape
    n = max(lens)
{before}
    k[({grid},)](x, {plain}, {constexpr}, BLOCK=128)
"""


def at_depth(depth: int, act: Callable[[], Any]) -> Any:
    """What `act` returns, called from that many calls."""
    return act() if depth == 0 else at_depth(depth - 1, act)


def terms(count: int) -> str:
    return " + ".join(["n"] * count)


def chain(count: int) -> str:
    """Assignments that build on each other."""
    return "\n".join(["    c0 = n", *(f"    c{one} = c{one - 1} + 1" for one in range(1, count))])


@pytest.mark.parametrize("count", [60, 100, 130, 160, 190, 250, 400, 900])
@pytest.mark.parametrize("place", ["grid", "plain", "constexpr", "chain", "shell", "notebook", "toml"])
def test_findings_do_not_depend_on_the_depth_of_the_stack(doctor: Doctor, write: Write, count: int, place: str) -> None:
    parts = {"before": "", "grid": "b * s", "plain": "n", "constexpr": "n"}
    if place in parts:
        parts[place] = terms(count)
    elif place == "chain":
        parts |= {"before": chain(count), "constexpr": f"c{count - 1}", "grid": f"c{count - 1}"}
    write("a.py", PROGRAM.format(**parts))
    ones = "+".join(["1"] * count)
    python = f"import os; os.environ['TRITON_INTERPRET'] = '1'; x = {ones}"
    if place == "shell":
        write("a.sh", f'python -c "{python}"\n')
    elif place == "notebook":
        write("a.ipynb", json.dumps({"cells": [{"cell_type": "code", "source": python}]}))
    elif place == "toml":
        write("a.toml", f"a = {'[' * count}{']' * count}\n[env]\nTRITON_INTERPRET = '1'\n")

    def found(*arguments: str) -> Any:
        outcome = doctor("check", "--output-format", "json", *arguments)
        return [outcome.status, json.loads(outcome.out)["findings"]]

    shallow = found("--no-cache")

    assert [at_depth(depth, lambda: found("--no-cache")) for depth in (150, 400)] == [shallow] * 2
    assert [found(), at_depth(400, found)] == [shallow] * 2

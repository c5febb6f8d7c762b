"""A process that scans many times, as a server for an editor does: no scan leaves in memory what it read."""

from __future__ import annotations

import gc
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.project import Project
from triton_doctor.static.python.function import Function
from triton_doctor.static.python.module import Kernel, Module
from triton_doctor.static.sources.source_text import SourceText
from triton_doctor.static.variability.interpreter.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

OF_A_SCAN = (Interpreter, Function, Kernel, Database, Module, Project, SourceText)
PROGRAM = """\
import torch
import triton
import triton.language as tl


@triton.jit
def k{0}(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x_ptr + o, n, mask=o < n)


class A:
    def __init__(self, lens):
        self.m{0} = max(lens)

    def f(self, x, lens: list[int]):
        b, h, s, d = x.shape
        k{0}[(b,)](x, self.m{0}, BLOCK=128)
        k{0}[(b,)](x, max(lens), BLOCK=128)
"""


def objects_of_scans() -> Counter[str]:
    """How many objects there are of what a scan makes."""
    gc.collect()
    return Counter(type(one).__name__ for one in gc.get_objects() if isinstance(one, OF_A_SCAN))


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["check", "--no-cache"], id="check"),
        pytest.param(["check"], id="check with a cache"),
        pytest.param(["check", "--no-cache", "--diff", "--unsafe-fixes"], id="fixes"),
        pytest.param(["explain", "k*"], id="explain"),
    ],
)
def test_scan_leaves_nothing_of_the_files_in_memory(doctor: Doctor, write: Write, arguments: list[str]) -> None:
    before, frozen = objects_of_scans(), gc.get_freeze_count()

    for number in range(3):
        write("a.py", PROGRAM.format(number))
        assert f"k{number}" in doctor(*arguments).out

    assert objects_of_scans() == before
    assert gc.get_freeze_count() == frozen
    assert gc.isenabled()


def test_memory_of_a_scan_does_not_grow_with_the_scans_before(doctor: Doctor, write: Write) -> None:
    counts = []
    for number in range(12):
        write("a.py", PROGRAM.format(number))
        doctor("check", "--no-cache")
        gc.collect()
        counts.append(len(gc.get_objects()))

    # Names of the program and patterns that `re` keeps, of which both keep a fixed number.
    assert counts[-1] - counts[3] < 100

"""What a kernel's body does with its parameters."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.python.parse import read_module

if TYPE_CHECKING:
    from triton_doctor.static.python.module import Kernel

HEADER = """\
import triton
import triton.language as tl


@triton.jit
def kernel(p, n, m, C: tl.constexpr, D: tl.constexpr):
"""


def read(body: str) -> Kernel:
    (kernel,) = read_module("module.py", f"{HEADER}{indent(body, '    ')}\n".encode()).kernels
    return kernel


@pytest.mark.parametrize(
    ("body", "needed"),
    [
        pytest.param("x = tl.arange(0, C)", {"C": "block"}, id="a block"),
        pytest.param("x = tl.zeros((C, 2 * D), tl.float32)", {"C": "block", "D": "block"}, id="a shape"),
        pytest.param("size = C * D\nx = tl.arange(0, size)", {"C": "block", "D": "block"}, id="a local made of them"),
        pytest.param("for i in tl.static_range(C):\n    pass", {"C": "unrolled"}, id="an unrolled loop"),
        pytest.param("for i in range(C):\n    pass", {}, id="a loop at run time"),
        pytest.param("tl.store(p + C, D)", {}, id="arithmetic"),
        pytest.param("if C:\n    x = n\nelse:\n    x = p\ntl.store(x, 1)", {"C": "branch"}, id="a branch over types"),
        pytest.param("if C > n:\n    tl.store(p, 1)", {}, id="a branch that a run-time value decides"),
        pytest.param("if C:\n    return n", {"C": "branch"}, id="a value returned in a branch"),
        pytest.param("x = tl.arange(0, C) if D == 'a' else n", {"C": "block", "D": "other"}, id="a word compared"),
        pytest.param("x = tl.load(p).to(C)", {"C": "other"}, id="a dtype"),
        pytest.param("C = tl.load(p)\nx = C + 1", {}, id="overwritten by what was loaded"),
    ],
)
def test_names_that_the_body_needs_while_it_compiles(body: str, needed: dict[str, str]) -> None:
    assert dict(read(body).uses.needed) == needed


def test_reads_and_passes_of_parameters_are_listed() -> None:
    kernel = read("if C == 1:\n    tl.store(p + n, D)\nm += 1\nhelper(p, m, k=D)")

    assert kernel.uses.read == {"p", "n", "m", "C", "D"}
    assert kernel.uses.passes == (("helper", 0, "p"), ("helper", 1, "m"), ("helper", "k", "D"))


def test_arange_of_what_the_body_computes_is_left_out() -> None:
    kernel = read("size = n\nx = tl.arange(0, C)\nif D:\n    y = tl.arange(1, D)\nz = tl.arange(0, size)")

    assert [arange.conditional for arange in kernel.uses.aranges] == [False, True]

"""What is known of a launch's argument besides its variability: whether it is an integer, which literals it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.settings import Settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.sources.files import find_files
from triton_doctor.static.variability.queries.queries import find_literals, is_integer

if TYPE_CHECKING:
    from pathlib import Path

    from triton_doctor.static.project.project import Project

HEAD = """\
import math
import torch
import triton
import triton.language as tl

SIZE = 64


@triton.jit
def kernel(x, n):
    tl.store(x, n)


"""


def project_of(folder: Path, **texts: str) -> Project:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    settings = Settings(root=folder)
    return whole_project(Database(list(find_files([folder], settings, cwd=folder))), settings, folder)


@emptying_scan_caches()
def all_are_integers(folder: Path, text: str) -> bool:
    """Whether `n` is an integer at each launch of `text`."""
    project = project_of(folder, a=HEAD + text)
    assert project.launches
    return all(is_integer(project, launch, launch.launch.arguments[1].value) for launch in project.launches)


LAUNCH = "    kernel[(1,)](x, n)\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def run(x):\n    n = x.shape[0] * 2 + 1\n", id="an axis"),
        pytest.param("def run(x):\n    b, *_, n = x.shape\n", id="unpacked"),
        pytest.param("def run(x):\n    b, n = x.shape[:2]\n", id="unpacked from a part"),
        pytest.param(
            "def run(x, c):\n    shape = x.shape if c else x.t().shape\n    n = shape[0]\n", id="either shape"
        ),
        pytest.param("def run(x):\n    n = x.stride(0)\n", id="a stride"),
        pytest.param("def run(x):\n    n = math.ceil(x.numel() / 3)\n", id="rounded"),
        pytest.param("def run(x, c):\n    n = SIZE if c else min(len(x), 4)\n", id="one of two"),
        pytest.param("def run(x, n: int):\n", id="annotated"),
        pytest.param("def run(x, ns: list[int]):\n    n = max(ns)\n", id="one of annotated items"),
        pytest.param("def run(x):\n    for n in range(3):\n        kernel[(1,)](x, n)\n", id="counted"),
        pytest.param("def half(n):\n    return n // 2\n\ndef run(x):\n    n = half(x.numel())\n", id="returned"),
        pytest.param("def call(x):\n    run(x, 8)\n    run(x)\n\ndef run(x, n=SIZE):\n", id="passed by all callers"),
    ],
)
def test_integer_for_certain(tmp_path: Path, text: str) -> None:
    assert all_are_integers(tmp_path, text + LAUNCH)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def run(x):\n    n = x.shape[0] / 2\n", id="divided"),
        pytest.param("def run(x):\n    n = x.shape[0] > 2\n", id="compared"),
        pytest.param("def run(x, n):\n", id="an argument that nobody passes"),
        pytest.param("def run(x, n: int = None):\n", id="None by default"),
        pytest.param("def run(x, c):\n    n = None\n    if c:\n        n = 4\n", id="None on one way"),
        pytest.param("def call(x):\n    run(x, 8)\n    run(x, 0.5)\n\ndef run(x, n):\n", id="a caller with a fraction"),
        pytest.param(
            "def call(x):\n    run(x, 8)\n    run(x)\n\ndef run(x, n=None):\n", id="a caller that leaves it out"
        ),
        pytest.param("def call(x):\n    run(x, 8)\n    run(x, *x)\n\ndef run(x, n):\n", id="a caller out of sight"),
        pytest.param("def run(x):\n    n = self.n\n", id="an attribute"),
        pytest.param("def run(x, i):\n    ns = [1, 2]\n    ns[0] = i\n    n = ns[0]\n", id="an item of a list by name"),
        pytest.param("def run(x):\n    n = x.sum().item()\n", id="data"),
        pytest.param("def run(x):\n    n = math.sqrt(16)\n", id="a root"),
        pytest.param("def run(x):\n    global n\n    n = 4\n", id="a global that the function sets"),
    ],
)
def test_no_integer_for_certain(tmp_path: Path, text: str) -> None:
    assert not all_are_integers(tmp_path, text + LAUNCH)


@emptying_scan_caches()
def literals_of(folder: Path, text: str, **others: str) -> list[tuple[object, int]]:
    """The literals that `n` may be at the launch of `text`, each with its line in `text`."""
    (launch,) = (project := project_of(folder, a=HEAD + text, **others)).launches
    found = find_literals(project, launch, launch.launch.arguments[1].value)
    return [(one.value, one.line - HEAD.count("\n") if one.path == "a.py" else one.line) for one in found]


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        pytest.param("def run(x):\n    kernel[(1,)](x, 8)\n", [(8, 2)], id="written at the launch"),
        pytest.param("def run(x):\n    n = 8\n" + LAUNCH, [(8, 2)], id="assigned"),
        pytest.param("def run(x, c):\n    n = 8 if c else 8.0\n" + LAUNCH, [(8, 2), (8.0, 2)], id="one of two"),
        pytest.param(
            "def run(x, c):\n    n = 8\n    if c:\n        n = 4\n" + LAUNCH, [(4, 4), (8, 2)], id="on two ways"
        ),
        pytest.param("def run(x, n=8):\n" + LAUNCH, [(8, 1)], id="a default"),
        pytest.param("def run(x, n=True):\n" + LAUNCH + "\nrun(1, 1)\n", [(True, 1), (1, 4)], id="passed for a flag"),
        pytest.param(
            "def run(x, n=8):\n    def inner():\n    " + LAUNCH + "    inner()\n", [(8, 1)], id="of an outer function"
        ),
        pytest.param("N = 8\n\ndef run(x):\n    kernel[(1,)](x, N)\n", [(8, 1)], id="a constant"),
        pytest.param("def run(x):\n    m, n = 4, 8\n" + LAUNCH, [(8, 2)], id="unpacked"),
        pytest.param("def run(x, n=8):\n    assert n > 4\n" + LAUNCH, [(8, 1)], id="tested"),
        pytest.param("def run(x, n=8):\n    run(x, n)\n" + LAUNCH, [(8, 1)], id="passed on to itself"),
    ],
)
def test_literals_that_an_argument_may_be(tmp_path: Path, text: str, literals: list[tuple[object, int]]) -> None:
    found = literals_of(tmp_path, text)

    assert [(type(value), value, line) for value, line in found] == [
        (type(value), value, line) for value, line in literals
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def run(x):\n    n = 4 + 4\n", id="computed"),
        pytest.param("def run(x):\n    n = float(8)\n", id="converted"),
        pytest.param("def run(x, m=None):\n    n = m.n or 8\n", id="in place of what is false"),
        pytest.param("def run(x):\n    ns = [8]\n    n = ns[0]\n", id="an item of a list by name"),
        pytest.param("def run(x):\n    x = torch.empty(8)\n    n = x.shape[0]\n", id="an axis"),
        pytest.param("def run(x):\n    n = 1 << 3\n", id="shifted"),
        pytest.param("def run(x):\n    global n\n    n = 8\n", id="a global that the function sets"),
        pytest.param("def run(x):\n    for n in range(8):\n        pass\n", id="a count below it"),
    ],
)
def test_value_that_is_no_literal(tmp_path: Path, text: str) -> None:
    assert literals_of(tmp_path, text + LAUNCH) == []


def test_literal_of_another_module_has_its_line_there(tmp_path: Path) -> None:
    text = "from sizes import N\n\ndef run(x):\n    kernel[(1,)](x, N)\n"

    assert literals_of(tmp_path, text, sizes="# sizes\nN = 8\n") == [(8, 2)]

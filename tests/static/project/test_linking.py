"""Launches to the kernels that they may start: by names, tables, namespaces, attributes and functions."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.static.variability.test_queries import project_of
from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.static.python.function_body import DECLARED
from triton_doctor.static.python.ir import Name
from triton_doctor.static.python.parse import read_module

if TYPE_CHECKING:
    from pathlib import Path

KERNELS = """\
from types import SimpleNamespace
import triton

@triton.jit
def rows(x):
    pass

@triton.jit
def cols(x):
    pass

"""


@pytest.mark.parametrize(
    ("program", "kernels"),
    [
        pytest.param(
            """
            TABLE = {"rows": rows, "cols": cols}
            def run(x):
                TABLE["rows"][(1,)](x)
            """,
            {"rows"},
            id="an entry",
        ),
        pytest.param(
            """
            TABLE = {"rows": rows, "cols": cols}
            def run(x, name):
                TABLE[name][(1,)](x)
            """,
            {"rows", "cols"},
            id="some entry",
        ),
        pytest.param(
            """
            TABLE = {"half": {"rows": rows}, "full": {"rows": cols}}
            def run(x):
                TABLE["full"]["rows"][(1,)](x)
            """,
            {"cols"},
            id="an entry of an entry",
        ),
        pytest.param(
            """
            def run(x, table):
                table["rows"][(1,)](x)
            def call(x):
                run(x, {"rows": rows, "cols": cols})
            """,
            {"rows"},
            id="an entry of an argument",
        ),
        pytest.param(
            """
            class Runner:
                def __init__(self):
                    self.table = dict(rows=rows, cols=cols)
                def run(self, x):
                    self.table["cols"][(1,)](x)
            """,
            {"cols"},
            id="an entry of an attribute",
        ),
        pytest.param(
            """
            def make(kernel):
                return SimpleNamespace(first=kernel, second=cols)
            def run(x):
                made = make(rows)
                made.first[(1,)](x)
            """,
            {"rows"},
            id="what a function was given for a namespace",
        ),
        pytest.param(
            """
            def run(x):
                [rows, cols][x.ndim][(1,)](x)
            """,
            {"rows", "cols"},
            id="some item of a list",
        ),
        pytest.param(
            """
            TABLE = {"rows": rows}
            TABLE = {"rows": cols}
            def run(x):
                TABLE["rows"][(1,)](x)
            """,
            {"cols"},
            id="a table that replaced another",
        ),
        pytest.param(
            """
            TABLE = {"rows": rows}
            def run(x):
                TABLE["cols"][(1,)](x)
            """,
            set(),
            id="an entry that is not there",
        ),
        pytest.param(
            """
            def run(x, name, **options):
                dict(first=rows, **cols)[name][(1,)](x)
            """,
            set(),
            id="some entry of what is merged",
        ),
        pytest.param(
            """
            TABLE = {"rows": rows}
            def run(x):
                TABLE[(1,)](x)
            """,
            set(),
            id="the table itself",
        ),
    ],
)  # fmt: skip
@emptying_scan_caches()
def test_kernels_of_a_launch_are_found(program: str, kernels: set[str], tmp_path: Path) -> None:
    project = project_of(tmp_path, a=KERNELS + dedent(program))

    found = {kernel.name for launch in project.launches for kernel in launch.kernels}

    assert found == kernels


def test_subscript_that_is_no_grid_is_no_launch() -> None:
    program = """
    def run(x, table, name):
        list[int](x)
        table[name]()
        rows[(1,)](x)
    """
    module = read_module("a.py", (KERNELS + dedent(program)).encode())

    assert [launch.kernel for _, launch in module.launches()] == [Name("rows")]


HELPERS = """
def launched(call):
    def launch(self, **inputs):
        grid, table = call(self, **inputs)
        self.kernel[grid](**table)
    return launch

@triton.jit
def scale(x_ptr, rows, FACTOR, BLOCK):
    pass

@triton.jit
def shift(x_ptr, rows, OFFSET, BLOCK):
    pass
"""


@pytest.mark.parametrize(
    ("program", "given"),
    [
        pytest.param(
            """
            class Scale:
                kernel = staticmethod(scale)
                @launched
                def __call__(self, x, rows):
                    return (rows,), dict(FACTOR=2, BLOCK=64)
            """,
            {"scale": {"x_ptr", "rows", "FACTOR", "BLOCK"}},
            id="a class attribute, and inputs that the helper passes by name",
        ),
        pytest.param(
            """
            class Scale:
                kernel = scale
            class Sized(Scale):
                def spec(self, rows):
                    table = {"FACTOR": 2, "BLOCK": 64, "num_warps": 4}
                    return (rows,), table
            """,
            {"scale": {"rows", "FACTOR", "BLOCK", "num_warps"}},
            id="a kernel of the base, a table with a name, an option",
        ),
        pytest.param(
            """
            class Either:
                def __init__(self):
                    self.first, self.second = scale, shift
                    self.fast = scale
                    self.slow = shift
                @launched
                def __call__(self, x):
                    return (1,), dict(OFFSET=2, BLOCK=64)
            """,
            {"shift": {"x_ptr", "OFFSET", "BLOCK"}},
            id="of two kernels that the object holds the one with these parameters",
        ),
        pytest.param(
            """
            @launched(kernel=scale)
            def run(x, rows):
                return (rows,), dict(FACTOR=2, BLOCK=64)
            """,
            {"scale": {"x_ptr", "rows", "FACTOR", "BLOCK"}},
            id="a kernel given to the decorator",
        ),
        pytest.param(
            """
            class Runner:
                def choose(self, rows):
                    return shift, (rows,), dict(x_ptr=None, OFFSET=2, BLOCK=64)
            """,
            {"shift": {"x_ptr", "rows", "OFFSET", "BLOCK"}},
            id="a kernel that is returned with its launch",
        ),
        pytest.param(
            """
            class Scale:
                kernel = scale
                def describe(self, x):
                    return x, dict(name="scale", size=2, BLOCK=64)
            """,
            {},
            id="a table that is mostly for something else is no launch",
        ),
    ],
)  # fmt: skip
@emptying_scan_caches()
def test_launch_that_is_returned_as_data_is_one_of_the_kernel_with_its_parameters(
    program: str, given: dict[str, set[str]], tmp_path: Path
) -> None:
    project = project_of(tmp_path, a=KERNELS + HELPERS + dedent(program))

    declared = [launch for launch in project.launches if launch.launch.method == DECLARED]
    found = {
        kernel.name: {argument.name for argument in launch.launch.arguments}
        for launch in declared
        for kernel in launch.kernels
    }

    assert found == given

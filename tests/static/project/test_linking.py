"""Launches to the kernels that they may start: by names, tables, namespaces, attributes and functions."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.static.variability.test_queries import project_of
from triton_doctor.scan_caches import emptying_scan_caches

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

"""Kernels and settings in notebooks: read as one program, reported by cell and line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.sources.notebooks import read_notebook

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

IMPORTS = "import torch\nimport triton\nimport triton.language as tl"
KERNEL = """\
@triton.jit
def fill(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 0, mask=at < n)"""
LAUNCH = """\
%matplotlib inline
def run(x, lens: list[int]):
    m = max(lens)
    fill[(1,)](x, m, BLOCK=128)"""


def notebook(*cells: str) -> str:
    """A notebook that begins with a cell of text."""
    code = [{"cell_type": "code", "outputs": [], "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["text"]}, *code], "nbformat": 4}, indent=1)


def test_kernel_of_a_notebook_is_checked_and_reported_by_cell_and_line(doctor: Doctor, write: Write) -> None:
    write("a.ipynb", notebook(IMPORTS, KERNEL, LAUNCH))

    full = doctor("check", "--no-cache", ".").out
    (finding,) = json.loads(doctor("check", "--output-format", "json", ".").out)["findings"]

    assert full.startswith("a.ipynb:cell 4:4:19: TRD201")
    assert "4 |     fill[(1,)](x, m, BLOCK=128)" in full
    assert "--> a.ipynb:cell 3:2" in full
    assert (finding["path"], finding["cell"], finding["line"], finding["column"]) == ("a.ipynb", 4, 4, 19)
    assert {(step["path"], step["cell"], step["line"]) for step in finding["trail"]} == {
        ("a.ipynb", 4, 2),
        ("a.ipynb", 4, 3),
        ("a.ipynb", 4, 4),
        ("a.ipynb", 3, 2),
    }
    assert finding["fixable"] == "no"


def test_cached_report_is_the_same(doctor: Doctor, write: Write) -> None:
    write("a.ipynb", notebook(IMPORTS, KERNEL, LAUNCH))

    assert doctor("check", ".").out == doctor("check", ".").out == doctor("check", "--no-cache", ".").out


def test_launch_in_a_notebook_of_a_kernel_elsewhere_is_seen(doctor: Doctor, write: Write) -> None:
    write("ops.py", f"{IMPORTS}\n\n{KERNEL}\n")
    write("a.ipynb", notebook("from ops import fill", LAUNCH))

    out = doctor("check", "--output-format", "concise", ".").out

    assert out.startswith("a.ipynb:cell 3:4:19:")
    assert "1 kernel, 1 launch\n" in out


def test_forms_that_know_lines_of_files_alone_name_the_cell_in_the_message(doctor: Doctor, write: Write) -> None:
    write("a.ipynb", notebook(IMPORTS, KERNEL, LAUNCH))

    github = doctor("check", "--output-format", "github", ".").out
    sarif = json.loads(doctor("check", "--output-format", "sarif", ".").out)

    assert github.startswith(("::warning file=a.ipynb,title=", "::error file=a.ipynb,title="))
    assert "::cell 4, line 4: " in github
    (result,) = sarif["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("a.ipynb", {"startLine": 1})


def test_comment_in_a_cell_silences(doctor: Doctor, write: Write) -> None:
    silent = LAUNCH.replace("m, BLOCK=128)", "m, BLOCK=128)  # triton-doctor: ignore[TRD201]")
    write("a.ipynb", notebook(IMPORTS, KERNEL, silent))

    assert "no problems" in doctor("check", ".").out


def test_setting_in_a_notebook_is_reported_by_cell_and_line(doctor: Doctor, write: Write) -> None:
    write("a.ipynb", notebook("x = 1", "\n%env TRITON_INTERPRET=1\nimport triton"))

    assert doctor("check", "--output-format", "concise", ".").out.startswith("a.ipynb:cell 3:2:")


def test_baseline_knows_a_finding_of_a_cell_that_moved(doctor: Doctor, write: Write) -> None:
    write("a.ipynb", notebook(IMPORTS, KERNEL, LAUNCH))
    doctor("check", "--write-baseline", ".")

    write("a.ipynb", notebook(IMPORTS, "x = 1", KERNEL, "y = 2", LAUNCH))

    assert "no problems" in doctor("check", "--baseline", "triton-doctor-baseline.json", ".").out


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        pytest.param("not json", 0, id="no JSON"),
        pytest.param('{"cells": 1}', 0, id="no cells"),
        pytest.param("[" * 100_000, 0, id="nested deep"),
        pytest.param(notebook("def f(:"), 1, id="a cell that does not parse"),
        pytest.param(notebook("%%html\n<b>"), 1, id="another language"),
    ],
)
def test_odd_notebook_is_an_empty_program(text: str, cells: int) -> None:
    read = read_notebook(text.encode())

    assert len(read.cells) == cells
    assert not read.program.replace(b"# coding: utf-8", b"").strip()


def test_fix_never_edits_a_notebook(doctor: Doctor, write: Write) -> None:
    text = notebook(IMPORTS, KERNEL.replace("n: tl.constexpr", "n: tl.constexpr, unused: tl.constexpr"), LAUNCH)
    path = write("a.ipynb", text)

    doctor("check", "--fix", "--unsafe-fixes", "--fail-on", "info", ".")

    assert path.read_text() == text

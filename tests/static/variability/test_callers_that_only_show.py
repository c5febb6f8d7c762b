"""What benchmarks and examples pass to a library: less than what a program passes, and more than nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.finding import Severity
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import FileKind, SourceFile

if TYPE_CHECKING:
    from triton_doctor.finding import Finding

KERNEL = b"""
import triton
import triton.language as tl


@triton.jit
def kernel(x, n: tl.constexpr):
    tl.store(x, n)
"""
FILL = (
    KERNEL
    + b"""
def fill(x, n):
    kernel[(1,)](x, n)
"""
)
FOLD = (
    KERNEL
    + b"""
def fold(x):
    b, h, t, d = x.shape
    kernel[(1,)](x, b)
"""
)
MEASURED = b"import triton\nfrom library import fill\n\ndef measure(x, lengths):\n    fill(x, lengths.max().item())\n"
COUNTED = b"""
import triton
import triton.language as tl


@triton.jit
def kernel(x, n, m):
    i = tl.arange(0, 64)
    tl.store(x + i, i, mask=(i < n) & (i < m))


def fill(x, n):
    kernel[(1,)](x, int(n), int(n) + 1)
"""
ALLOCATED = b"""
import torch
import triton
from library import fold

def measure(lengths):
    fold(torch.empty(lengths.max().item(), 2, 8, 64))
"""

WRITTEN = b"""
import torch
import triton
from library import fold

fold(torch.empty(4, 2, 8, 64))
"""
LISTED = b"""
import torch
import triton
from library import fold

for batch, length in [(4, 8), (16, 64)]:
    fold(torch.empty(batch, 2, length, 64))
"""


@pytest.mark.parametrize(
    ("path", "severity"),
    [
        pytest.param("benchmarks/measure.py", Severity.WARNING, id="a benchmark"),
        pytest.param("serve.py", Severity.ERROR, id="a program"),
    ],
)
def test_data_that_a_benchmark_alone_passes_makes_no_error(path: str, severity: Severity) -> None:
    (finding,) = find({"library.py": FILL, path: MEASURED})

    assert finding.severity is severity


def test_benchmark_tells_nothing_of_what_a_program_passes() -> None:
    fixed = b"import triton\nfrom library import fill\n\ndef serve(x):\n    fill(x, 64)\n"

    assert find({"library.py": FILL, "benchmarks/measure.py": MEASURED, "serve.py": fixed}) == []


@pytest.mark.parametrize(
    ("path", "codes"),
    [pytest.param("benchmarks/measure.py", [], id="a benchmark"), pytest.param("serve.py", ["TRD208"], id="a program")],
)
def test_number_that_a_benchmark_alone_passes_is_no_count(path: str, codes: list[str]) -> None:
    found = find({"library.py": COUNTED, path: MEASURED})

    assert [finding.code for finding in found] == codes


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        pytest.param("benchmarks/measure.py", ["TRD201"], id="a benchmark"),
        pytest.param("try.ipynb", ["TRD201"], id="a notebook"),
        pytest.param("serve.py", [], id="a program"),
    ],
)
@pytest.mark.parametrize(
    "sizes", [pytest.param(WRITTEN, id="literals"), pytest.param(LISTED, id="items of a list of literals")]
)
def test_sizes_that_a_program_alone_writes_out_are_fixed(path: str, codes: list[str], sizes: bytes) -> None:
    found = find({"library.py": FOLD, path: written(path, sizes)})

    assert [finding.code for finding in found] == codes


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        pytest.param("benchmarks/measure.py", "library.py", id="a benchmark"),
        pytest.param("serve.py", "serve.py", id="a program"),
    ],
)
def test_trail_of_an_axis_does_not_begin_in_a_benchmark(path: str, origin: str) -> None:
    (finding,) = find({"library.py": FOLD, path: ALLOCATED})

    assert finding.trail[0].path == origin


def written(path: str, text: bytes) -> bytes:
    """What the file at `path` holds, with `text` for its code."""
    if not path.endswith(".ipynb"):
        return text
    cell = {"cell_type": "code", "source": text.decode(), "metadata": {}, "outputs": [], "execution_count": None}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def find(texts: dict[str, bytes]) -> list[Finding]:
    """What is found in a project of `texts`, by path."""
    root = Path("/project")
    files = [SourceFile(f"{root}/{path}", path, FileKind.PYTHON, text) for path, text in texts.items()]
    return list(scan(files, Settings(root=root), cwd=root).findings)

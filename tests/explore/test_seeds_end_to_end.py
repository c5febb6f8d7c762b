"""A sweep of a folder from the command line to the report and to `check`, with nothing made up by hand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.tritons import skip_without

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.xdist_group("sweeps of paths")

SEEDS = Path(__file__).parent.parent.parent / "fixtures" / "seeds"
OPS = """\
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_kernel(x_ptr, w_ptr, n, LENGTH: tl.constexpr, MANY: tl.constexpr):
    for at in range(LENGTH):
        tl.store(x_ptr + at, tl.load(w_ptr + at) + MANY)


@triton.jit
def mask_kernel(x_ptr, n, WIDTH: tl.constexpr):
    for at in range(WIDTH):
        tl.store(x_ptr + at, 0.0)


class Positions(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(length))

    def forward(self, x):
        seq_len = x.shape[1]
        if seq_len != self.weight.shape[0]:
            raise ValueError(f"expected {self.weight.shape[0]}, got {seq_len}")
        add_kernel[(1,)](x, self.weight, 5, LENGTH=seq_len, MANY=x.shape[0])
        return x


def mask(x):
    batch, seq_len = x.shape
    mask_kernel[(batch,)](x, 5, WIDTH=seq_len)
    return x
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Callable[..., str]:
    """Run the command in a folder with `seeds` and `ops`, and return what it printed."""
    skip_without("torch", "triton")
    folder = tmp_path_factory.mktemp("sweeps")
    shutil.copytree(SEEDS, folder / "seeds")
    (folder / "seeds" / "pyproject.toml").write_text("", encoding="utf-8")
    (folder / "ops").mkdir()
    (folder / "ops" / "pyproject.toml").write_text("", encoding="utf-8")
    (folder / "ops" / "ops.py").write_text(OPS, encoding="utf-8")

    def start(where: str, *words: str) -> str:
        command = [sys.executable, "-m", "triton_doctor", *words]
        environment = os.environ | {"COLUMNS": "80"}
        done = subprocess.run(command, cwd=folder / where, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return start


@pytest.fixture(scope="module")
def seeds(run) -> str:
    """The report of a sweep of the seeds."""
    return run("seeds", "sweep", ".", "--yes", "--no-tests")


@pytest.fixture(scope="module")
def checked(run) -> str:
    """What `check` says of `ops` after a sweep of it."""
    run("ops", "sweep", ".", "--yes", "--no-tests", "-o", "swept.jsonl")
    return run("ops", "check", ".", "--recording", "swept.jsonl", "--exit-zero", "--show", "info")


def test_constexprs_of_the_ragged_mask_have_their_formulas(seeds):
    of_kernel = next(part for part in seeds.split("\n\n") if "ragged_attention_mask.py:18" in part)
    of_kernel = re.sub(r"\s+", " ", of_kernel)

    assert re.search(r"`bs` = the length of `kv_lens` in `build_mask\(kv_lens\)`", of_kernel)
    assert re.search(r"`max_kv_len_per_req` = an item of `kv_lens` in `build_mask\(kv_lens\)`", of_kernel)
    assert re.search(r"`stride_mask_qo` = an item of `kv_lens` in `build_mask\(kv_lens\)`", of_kernel)
    assert of_kernel.count("data, by name or position only") == 3


def test_summary_stands_first_and_what_was_not_reached_is_listed(seeds):
    assert re.match(r"\d of 7 launched kernels reached, by \d of 9 entries\n", seeds)
    assert seeds.count("this says nothing") == 1


def test_no_line_is_longer_than_the_terminal_is_wide(seeds):
    assert max(map(len, seeds.splitlines())) <= 80


def test_finding_is_confirmed_by_the_axis_that_it_follows(checked):
    assert "confirmed by sweep (follows axis 1 of `x`)" in checked


def test_finding_is_cleared_where_a_parameter_of_the_module_fixes_the_axis(checked):
    (told,) = re.findall(r"cleared by sweep[^\n]*`LENGTH`[^\n]*", checked)

    assert told.endswith("follows axis 1 of `x`, which is set by the constructor: `length`")


def test_what_check_had_not_decided_is_a_warning_where_the_sizes_of_the_module_show_that_it_is_data(checked):
    assert "added by sweep: TRD201 `MANY` of `add_kernel`: follows axis 0 of `x`" in checked
    assert re.search(r"TRD201 [\w-]+ \(warning\)\n  `MANY` recompiles `add_kernel` for each value of axis 0", checked)

"""What a sweep says of a finding: what the parameter follows decides, not the number of values."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_doctor.runtime.recording import Recording

SOURCE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, n, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    for row in range(ROWS):
        tl.store(x_ptr + row * WIDTH, n)


def forward(batch, length, hidden=64):
    x = torch.empty(batch, length, hidden, device="cuda")
    launch(x)
    return x


def launch(x: torch.Tensor):
    batch, length, hidden = x.shape
    scale[(1,)](x, 5, ROWS=batch * length, WIDTH=hidden)
"""


@pytest.fixture
def sweep_and_check(doctor, write):
    """What `check` says after a sweep with `options`."""

    def run(*options):
        write("rows.py", SOURCE)
        assert doctor("sweep", "rows.py:forward", *options, "-o", "swept.jsonl").status == 0
        return doctor("check", "rows.py", "--recording", "swept.jsonl", "--exit-zero").out

    return run


def test_unbounded_formula_confirms_and_is_given(sweep_and_check):
    out = sweep_and_check("--vary", "batch=1,2,4", "--vary", "length=1..64")

    assert "confirmed by a dry run: " in out
    assert "shapes, follows batch*length" in out


def test_unbounded_formula_confirms_with_few_values(sweep_and_check):
    out = sweep_and_check("--vary", "batch=1,3,4", "--vary", "length=1")

    assert "confirmed by a dry run: 3 values over 3 shapes, follows batch" in out


def test_verify_tries_the_arguments_of_a_dry_recording(sweep_and_check, doctor, folder):
    sweep_and_check("--vary", "batch=1,2,4", "--vary", "length=1..16")
    done = doctor("check", "rows.py", "--recording", "swept.jsonl", "--unsafe-fixes", "--diff", "--verify")

    variants = len({event.key for event in Recording.read(folder / "swept.jsonl").compiles})
    assert f"{variants} variants before, 1 after for what was recorded" in done.err
    assert "+@triton.jit(do_not_specialize" in done.out


def test_what_a_model_fixes_is_never_confirmed_or_added(sweep_and_check):
    out = sweep_and_check("--vary", "batch=2", "--vary", "length=8", "--vary", "hidden=16..512", "--fixed", "hidden")

    assert "`WIDTH`" not in out or "which a model fixes" in out
    assert "confirmed" not in out
    assert "recompiled `scale` in a run" not in out
    assert Path("swept.jsonl").exists()

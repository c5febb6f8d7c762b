"""Neovim, as Debian ships it, with the server: the client that most of those who write kernels in a terminal have."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tritons import skip_without

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def _copy(x, n: tl.constexpr):
    tl.store(x + n, n)


def run(x, rows):
    _copy[(1,)](x, n=len(rows))
"""


@pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim")
def test_neovim_shows_a_diagnostic_a_hover_and_a_quick_fix(tmp_path: Path) -> None:
    skip_without("pygls", "lsprotocol")
    (tmp_path / "pyproject.toml").touch()
    module = tmp_path / "kernel.py"
    module.write_text(KERNEL)
    script = Path(__file__).parent / "neovim.lua"
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", str(module), "-c", f"luafile {script}"]
    environment = os.environ | {"PYTHON": sys.executable, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}

    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400, check=False
    )

    seen = dict(line.split(" ", 1) for line in ended.stdout.splitlines() if " " in line)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(seen["diagnostic"])["code"] == "TRD201"
    assert json.loads(seen["diagnostic"])["line"] == 10
    assert json.loads(seen["hover"]).startswith("**`n`** of `_copy`, a constexpr: **per call**")
    assert json.loads(seen["fix"]).startswith("make `n` of `_copy` a plain argument")
    assert "def _copy(x, n):" in json.loads(seen["text"])

"""A project with hostile modules among good ones: each good entry is swept, and nothing else happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tritons import skip_without
from triton_doctor.explore.entries import find_entries
from triton_doctor.explore.model import Limits
from triton_doctor.explore.project_sweep import SweepRequest, sweep_project
from triton_doctor.settings import load_settings
from triton_doctor.static.sources.workspace import find_workspace

GOOD = """
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2, mask=offsets < n)


def scale(x):
    rows, n = x.shape
    scale_kernel[(rows,)](x, n, BLOCK=triton.next_power_of_2(n))
    return x
"""
# As it is imported, and as it is called: what a project may do by mistake or on purpose.
AT_IMPORT = {
    "removes": "import shutil; shutil.rmtree({victim!r}, ignore_errors=True)",
    "removes_home": "import os; os.system('rm -rf ~ {victim}')",
    "exits": "import os; os._exit(0)",
    "leaves": "import sys; sys.exit('not today')",
    "connects": "import socket; socket.create_connection(('127.0.0.1', {port})).sendall(b'secret')",
    "kills": "import os, signal; os.kill(os.getppid(), signal.SIGKILL); os.kill(-1, signal.SIGKILL)",
    "forks": "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
    "waits": "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "takes_memory": "bytearray(100 << 30)",
    "closes": "import os; os.closerange(0, 1000)",
    "prints": "print('x' * 10_000_000)",
    "replaces": "import os, builtins; os.rename = os.write = os.open = builtins.open = None",
    "interrupts": "raise KeyboardInterrupt",
    "writes_source": "open(__file__, 'a').write('gone')",
}


@pytest.fixture
def hostile_project(tmp_path, monkeypatch):
    """A project with a good module and one for each attack, and the folder that they are after."""
    skip_without("torch", "triton")
    victim, project = tmp_path / "victim", tmp_path / "project"
    victim.mkdir()
    (victim / "kept.txt").write_text("kept")
    project.mkdir()
    (project / "pyproject.toml").write_text("[project]\nname = 'hostile'\n")
    (project / "good.py").write_text(GOOD)
    for name, attack in AT_IMPORT.items():
        text = attack.replace("{victim!r}", repr(str(victim))).replace("{victim}", str(victim)).replace("{port}", "9")
        (project / f"{name}.py").write_text(f"{text}\n{GOOD}".replace("scale", f"scale_{name}"))
    return project, victim


def swept(project, **options):
    workspace = find_workspace([project], load_settings(project), cwd=Path.cwd())
    found = find_entries(workspace)
    request = SweepRequest(jobs=2, limits=Limits(wall_s=30, search_s=2, sweep_s=0.5), **options)
    return found, sweep_project(found, request)


def test_good_entry_is_swept_among_hostile_ones_and_nothing_else_happens(hostile_project):
    project, victim = hostile_project
    before = {path.name: path.read_bytes() for path in project.iterdir()}

    found, done = swept(project)

    status = {outcome.entry: outcome.status for outcome in done.outcomes}
    assert status.pop("good:scale") == "complete"
    assert len(status) == len(AT_IMPORT) == len(found.entries) - 1
    # What does no more than print, close or try has a launch all the same.
    launching = {name.partition(":")[0] for name, each in status.items() if each == "complete"}
    assert launching >= {"closes", "prints", "removes", "removes_home"}
    assert not launching & {"exits", "forks", "waits", "crashes"}
    assert {path.name: path.read_bytes() for path in project.iterdir()} == before
    assert [path.read_text() for path in victim.iterdir()] == ["kept"]

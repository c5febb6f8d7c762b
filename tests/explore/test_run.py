"""A sweep as a whole: examples from the project's own tests, results that are kept, and what an interruption leaves."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.tritons import skip_without
from triton_doctor.explore.entries import find_entries
from triton_doctor.explore.project_copy import copy_project
from triton_doctor.explore.project_sweep import SweepRequest, sweep_project
from triton_doctor.settings import load_settings
from triton_doctor.static.sources.workspace import find_workspace

pytestmark = pytest.mark.xdist_group("sweeps of projects")

SCALE = """
import torch
import triton
import triton.language as tl

from factors import FACTOR


@triton.jit
def scale_kernel(x_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * factor, mask=offsets < n)


def scale(x, mode):
    if mode not in ("rows", "columns"):
        raise ValueError(mode)
    n = x.shape[1]
    scale_kernel[(x.shape[0],)](x, n, FACTOR, BLOCK=triton.next_power_of_2(n))
    return x
"""
OTHER = SCALE.replace("from factors import FACTOR", "FACTOR = 3").replace("scale", "other")
TEST = """
import pytest
import torch

from scale import scale


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("columns", [7, 64])
def test_scale(rows, columns):
    scale(torch.zeros(rows, columns, dtype=torch.float16, device="cuda"), mode="rows")


def test_that_fails():
    scale(torch.zeros(2, 2, device="cuda"), mode="columns")
    assert False
"""


@pytest.fixture
def project(tmp_path):
    skip_without("torch", "triton")
    folder = tmp_path / "project"
    (folder / "tests").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[project]\nname = 'scales'\n[tool.pytest.ini_options]\naddopts = '--cov'\n")
    (folder / "factors.py").write_text("FACTOR = 2\n")
    (folder / "scale.py").write_text(SCALE)
    (folder / "other.py").write_text(OTHER)
    (folder / "tests" / "test_scale.py").write_text(TEST)
    return folder


def sweep(project, *, seeds=False, **options):
    workspace = find_workspace([project], load_settings(project), cwd=Path.cwd())
    found = find_entries(workspace)
    progress = options.pop("on_progress", lambda _done, _reached: None)
    request = SweepRequest(jobs=1, seed_files=found.seed_files if seeds else (), **options)
    return sweep_project(found, request, on_progress=progress)


def test_calls_of_the_tests_become_examples_by_their_form(project):
    done = sweep(project, seeds=True)

    calls = [msgspec.json.decode(call) for call in done.examples.calls["scale:scale"]]
    most, other = calls
    assert done.examples.ran == ["tests/test_scale.py"]
    assert {path: spec["kind"] for path, spec in most["specs"].items()} == {"x": "tensor", "mode": "str"}
    assert (most["dtype"], most["specs"]["mode"]["value"]) == ("float16", "rows")
    assert (other["dtype"], other["specs"]["mode"]["value"]) == ("float32", "columns")
    # Its two axes were equal in no call of the first form, and in all of the second.
    assert [len(set(call["specs"]["x"]["axes"])) for call in calls] == [2, 1]
    assert [outcome.status for outcome in done.outcomes] == ["complete", "complete"]


def test_second_sweep_repeats_only_what_changed(project, tmp_path):
    def again():
        done = sweep(project, results=tmp_path / "results")
        assert {outcome.status for outcome in done.outcomes} == {"complete"}
        return done.reused

    first, second = again(), again()
    (project / "factors.py").write_text("FACTOR = 5\n")
    after_change_of_an_import = again()
    (project / "notes.py").write_text("# of nobody's concern\n")
    after_new_file = again()

    assert (first, second, after_change_of_an_import, after_new_file) == (0, 2, 1, 2)
    assert sweep(project, results=tmp_path / "results").walls is None


def test_package_that_is_there_now_is_imported(project, tmp_path):
    (project / "other.py").write_text(f"import factors_of_others\n{OTHER}")
    stand_ins = [outcome.stand_ins for outcome in sweep(project, results=tmp_path / "results").outcomes]

    (project / "factors_of_others.py").write_text("")
    done = sweep(project, results=tmp_path / "results")

    assert ("factors_of_others",) in stand_ins
    assert [outcome.stand_ins for outcome in done.outcomes] == [(), ()]
    assert done.reused == 1


def test_entry_writes_to_its_working_directory_and_nothing_outside_changes(project):
    writing = 'def other(x, mode):\n    open("log.txt", "w").close()\n    open("tests/log.txt", "w").close()\n'
    (project / "other.py").write_text(OTHER.replace("def other(x, mode):\n", writing))
    before = sorted(project.rglob("*"))

    done = sweep(project)

    assert [outcome.status for outcome in done.outcomes] == ["complete", "complete"]
    assert sorted(project.rglob("*")) == before


def test_interruption_keeps_what_is_done(project):
    def interrupt(_done, _reached):
        raise KeyboardInterrupt

    done = sweep(project, on_progress=interrupt)

    assert not done.is_whole
    assert sorted(outcome.status for outcome in done.outcomes) == ["complete", "not tried"]


def test_copy_has_what_can_be_imported_and_nothing_from_outside(project, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (project / "link.txt").symlink_to(tmp_path / "secret.txt")
    (project / "inner.py").symlink_to(project / "scale.py")
    (project / "weights.bin").write_bytes(bytes(2 << 20))
    (project / ".git").mkdir()
    (project / ".git" / "config").write_text("url = https://token@example.com")
    (project / "env").mkdir()
    (project / "env" / "pyvenv.cfg").write_text("")
    (project / "env" / "site.py").write_text("")

    copy = tmp_path / "copy"
    copy_project(project, ("",), copy)

    names = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()}
    assert names == {"pyproject.toml", "factors.py", "scale.py", "other.py", "inner.py", "tests/test_scale.py"}
    assert not any(path.stat().st_mode & 0o222 for path in copy.rglob("*"))


def test_cluster_drives_entries_in_its_workers(project):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None) as cluster:
        done = sweep(project, seeds=True, cluster=f"dask:{cluster.scheduler_address}")

    assert [outcome.status for outcome in done.outcomes] == ["complete", "complete"]
    assert done.examples.ran == ["tests/test_scale.py"]
    assert done.walls.are_there

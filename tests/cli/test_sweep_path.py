"""`triton-doctor sweep PATH`: what it asks, prints, writes and exits with."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.tritons import skip_without
from triton_doctor.runtime.recording import Recording

pytestmark = pytest.mark.xdist_group("sweeps of paths")

ROWS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 0.0, mask=offsets < n)


def fill_rows(x):
    rows, n = x.shape
    rows_kernel[(rows,)](x, n, BLOCK=triton.next_power_of_2(n))
    return x
"""


@pytest.fixture(autouse=True)
def _torch_and_own_cache(monkeypatch, tmp_path):
    skip_without("torch", "triton")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def project(write):
    write("pyproject.toml", "[project]\nname = 'rows'\n")
    write("src/rows.py", ROWS)


@pytest.fixture
def swept(doctor, project):
    """What one sweep of the project said, wrote and left in the cache."""
    return doctor("sweep", "src", "--yes", "--no-tests", "-o", "swept.jsonl", "--write-drivers", "sweeps")


def test_kernel_is_reached_and_its_constexpr_follows_an_axis_of_an_argument(doctor, swept, folder):
    assert swept.status == 0
    assert swept.out.startswith("1 of 1 launched kernels reached, by 1 of 1 entries\n")
    assert re.search(r"`BLOCK` = next_power_of_2\((\w+)\), \1 = axis 1 of `x` in `fill_rows\(x\)`", swept.out)
    assert swept.err.splitlines()[0].endswith(": 1 entry, dry, in a sandbox, without network")

    again = doctor("sweep", "src", "--yes", "--no-tests")

    # All but how it was confined: nothing had to run.
    assert again.out.splitlines()[:5] == swept.out.splitlines()[:5]


def test_entry_is_named_as_file_and_function_or_module_and_function(doctor, project, write, monkeypatch):
    write("src/more.py", ROWS.replace("rows", "more"))
    by_file = doctor("sweep", "src/rows.py:fill_rows", "--yes", "--output-format", "json")
    by_module = doctor("sweep", "src.rows:fill_rows", "--yes", "--output-format", "json")

    assert (by_file.status, by_module.status) == (0, 0)
    assert "more_kernel" not in by_file.out
    first, second = json.loads(by_file.out), json.loads(by_module.out)
    assert first["kernels"] == second["kernels"] != []
    assert (first["entries_reused"], second["entries_reused"]) == (0, 1)
    assert not first["is_interrupted"]


def test_recording_is_one_that_check_and_report_read(doctor, swept, folder):
    checked = doctor("check", "src", "--recording", "swept.jsonl", "--output-format", "json")

    recording = Recording.read(folder / "swept.jsonl")
    assert recording.headers[0].dry
    assert {event.kernel.name for event in recording.compiles} == {"rows_kernel"}
    assert {event.launch_site.path for event in recording.compiles} == {str(folder / "src" / "rows.py")}
    assert checked.status in (0, 1)
    assert "rows_kernel" in doctor("report", "swept.jsonl").out


def test_drivers_are_written_once_and_replaced_on_request_only(doctor, swept, folder):
    written = {path.name: path.read_text() for path in (folder / "sweeps").iterdir()}
    second = doctor("sweep", "src", "--yes", "--write-drivers", "sweeps")

    assert any("fill_rows" in text for text in written.values())
    assert (second.status, second.err) == (
        2,
        "triton-doctor: sweeps is there already\nhint: --force replaces it\n",
    )
    assert doctor("sweep", "src", "--yes", "--no-tests", "--write-drivers", "sweeps", "--force").status == 0


def test_text_of_an_error_does_not_reach_the_terminal_as_it_is(doctor, write):
    write("pyproject.toml", "[project]\nname = 'rows'\n")
    write(
        "bad.py",
        ROWS.replace("    rows, n =", "    if x is not None:\n        raise ValueError('\\x1b[2Jgone')\n    rows, n ="),
    )

    done = doctor("sweep", "bad.py", "--yes", "--no-tests")

    assert done.status == 0
    assert "\\x1b[2Jgone" in done.out
    assert "\x1b" not in done.out


def test_nothing_runs_unless_agreed(doctor, project, write, folder):
    write("src/rows.py", f"open({str(folder / 'ran')!r}, 'w')\n{ROWS}")

    done = doctor("sweep", "src")

    assert done.status == 2
    assert done.err.splitlines()[-1] == "hint: --yes agrees to that"
    assert not (folder / "ran").exists()


def test_ci_agrees(doctor, project, monkeypatch):
    monkeypatch.setenv("CI", "true")

    assert doctor("sweep", "src", "--no-tests").status == 0


def test_project_is_as_it_was(doctor, project, folder):
    def names():
        return {path.relative_to(folder) for path in folder.rglob("*") if "cache" not in path.parts}

    before = names()

    doctor("sweep", "src", "--yes")

    assert names() == before


def test_sizes_of_a_function_are_varied_as_ever(doctor, project, write):
    write(
        "src/driver.py",
        "import torch\nfrom rows import fill_rows\ndef drive(n):\n    fill_rows(torch.zeros(2, n, device='cuda'))\n",
    )

    done = doctor("sweep", "src/driver.py:drive", "--vary", "n=1..512")

    assert done.status == 0
    assert "next_power_of_2(n)" in done.out


def test_example_that_calls_an_entry_is_used_and_one_that_fails_is_reported(doctor, project, write):
    write("tests/test_rows.py", "def test_rows():\n    raise RuntimeError('no data')\n")
    write("tests/broken.py", "raise RuntimeError('no data')\n")

    done = doctor("sweep", "src", "--yes", "--no-tests", "--example", "fill_rows=tests/broken.py")

    assert done.status == 0
    assert "tests/broken.py gave no example to its end: RuntimeError: no data" in done.err


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (("nowhere",), "no such file or folder: nowhere", "name a folder, a file, or file.py:function"),
        (("nowhere.py:f",), "no such file or folder: nowhere.py", "name a folder, a file, or file.py:function"),
        (("src/rows.py:",), "'src/rows.py:' names no function", "write path/to/file.py:function"),
        (
            ("src/rows.py:fil_rows",),
            "src/rows.py has no entry called 'fil_rows' that leads to a launch",
            "entries there: fill_rows",
        ),
        (("src", "src/rows.py:fill_rows"), "some of what is named are entries, others are not", "sweep them"),
        (("plain.py",), "nothing in plain.py launches a Triton kernel", "name the folder of the code that does"),
        (("src", "--example", "fill_rows=nowhere.py"), "no file: nowhere.py", "--example ops.py:decode"),
        (("src", "--example", "fil=plain.py"), "no entry is called 'fil'", "near it: fill_rows"),
        (("src", "--vary", "n=1..3"), "no function: 'src'", "write package.module:function"),
        (("src/driver.py:drive", "--vary", "n=1..3", "--jobs", "2"), "with --vary one function is swept", "leave out"),
        (("src", "--cluster", "nowhere"), "no such cluster: 'nowhere'", "write it as dask:tcp"),
    ],
)
def test_wrong_words_are_one_line_with_a_hint(doctor, project, write, words, said, hint):
    write("plain.py", "def f():\n    return 1\n")

    done = doctor("sweep", *words, "--yes") if "--vary" not in words else doctor("sweep", *words)

    first, second = [line for line in done.err.splitlines() if "imports and runs" not in line]
    assert (done.status, done.out) == (2, "")
    assert first.startswith(f"triton-doctor: {said}")
    assert second.startswith(f"hint: {hint}")


def test_output_is_not_replaced_unasked(doctor, project, folder):
    (folder / "swept.jsonl").write_text("mine")

    done = doctor("sweep", "src", "--yes", "-o", "swept.jsonl")

    assert (done.status, done.err) == (2, "triton-doctor: swept.jsonl is there already\nhint: --force replaces it\n")
    assert (folder / "swept.jsonl").read_text() == "mine"


def test_clean_forgets_results(doctor, swept):
    assert doctor("check", "--clean").out == "removed 1 result of sweeps\n"
    assert doctor("check", "--clean").out == "nothing to remove\n"


def test_ctrl_c_reports_what_is_done(project, write, folder, tmp_path):
    write("src/waits.py", f"import time\ntime.sleep(3600)\n{ROWS}".replace("rows", "slow_rows"))
    results = tmp_path / "cache" / "triton-doctor" / "sweeps"
    command = [sys.executable, "-m", "triton_doctor", "sweep", "src", "--yes", "--no-tests", "--jobs", "2"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder) as sweep:
        while not (results.exists() and any(results.glob("*.json"))):
            assert sweep.poll() is None
            time.sleep(0.1)
        sweep.send_signal(signal.SIGINT)
        out, err = sweep.communicate()

    assert sweep.returncode == 130
    assert out.startswith("1 of 2 launched kernels reached, by 1 of 2 entries\n")
    assert err.splitlines()[-1] == "triton-doctor: interrupted: the report has what was done until then"

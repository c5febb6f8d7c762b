"""The spelling of targets, and what is imported by whom."""

import json
import subprocess
import sys

import pytest

from tests.runtime.tritons import PROGRAMS, VERSIONS
from triton_doctor.errors import DoctorError
from triton_doctor.runtime.compile_target import parse_target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("cuda:90", ("cuda", 90, 32)),
        ("cuda:120", ("cuda", 120, 32)),
        ("hip:gfx942", ("hip", "gfx942", 64)),
        ("hip:gfx90a", ("hip", "gfx90a", 64)),
        ("hip:gfx1100", ("hip", "gfx1100", 32)),
    ],
)
def test_target_is_backend_architecture_and_warp(text, target):
    assert parse_target(text) == target


@pytest.mark.parametrize("text", ["", "cuda", "cuda:", "cuda:9", "hip:90", "gfx942", "cuda:90 ", "CUDA:90"])
def test_anything_else_is_refused_with_the_spelling(text):
    with pytest.raises(DoctorError) as caught:
        parse_target(text)

    assert caught.value.hint == "an H100 is cuda:90, an A100 cuda:80, an MI300X hip:gfx942"


@pytest.mark.parametrize(
    "code",
    [
        "import triton_doctor",
        "import triton_doctor; triton_doctor.Recording",
        "import triton_doctor; triton_doctor.record",
    ],
)
def test_nothing_heavy_is_imported(code):
    heavy = "{'torch', 'triton', 'typer', 'rich', 'libcst', 'yaml', 'numpy'}"
    check = f"import sys; {code}; found = {heavy} & set(sys.modules); sys.exit(', '.join(found) or 0)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_recording_without_triton_is_refused_with_a_hint():
    check = "import sys; sys.modules['triton'] = None\nimport triton_doctor\nwith triton_doctor.record(): pass"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)

    assert done.stderr.strip().endswith("DoctorError: triton is not installed here")


@pytest.mark.parametrize("version", VERSIONS)
def test_compile_for_a_target_of_its_own_asks_for_no_driver(version, runner, tmp_path):
    done = runner(version)(str(PROGRAMS / "ahead_of_time.py"), str(tmp_path / "run.jsonl"))
    told = json.loads(done.stdout)

    assert told["warnings"] == []
    assert told["direct"] == [[True, "", "cuda:90", True], [True, "", "cuda:90", False]]

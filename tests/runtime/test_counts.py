"""What must be counted, on each generation of hooks: real keys, real compiles, real caches."""

import re

import pytest

from tests.runtime.tritons import NEWEST, PROGRAMS, REPOSITORY, VERSIONS
from triton_doctor import Recording


def counts(recording):
    return len(recording.compiled), len(recording.loaded), recording.in_memory


@pytest.mark.parametrize("version", VERSIONS)
def test_vector_add_launched_18_times(version, runner, tmp_path):
    runner(version)(str(PROGRAMS / "vector_add.py"), str(tmp_path / "add.jsonl"), "cuda:90")
    recording = Recording.read(tmp_path / "add.jsonl")

    assert counts(recording) == (9, 4, 5)
    assert [event.launch_site.function for event in recording.compiles] == ["launch"] * 13
    assert recording.warnings == ()
    assert recording.headers[0].compile_only
    assert dict(recording.headers[0].versions)["triton"] == version


def test_vector_add_for_an_amd_gpu(runner, tmp_path):
    runner(NEWEST)(str(PROGRAMS / "vector_add.py"), str(tmp_path / "add.jsonl"), "hip:gfx942")

    assert counts(Recording.read(tmp_path / "add.jsonl")) == (10, 3, 5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "compiled"),
    [
        pytest.param("constexpr", 40, id="each length is a kernel"),
        pytest.param("plain", 2, id="divisible by 16 or not"),
        pytest.param("unspecialized", 1, id="never specialized"),
    ],
)
def test_ragged_mask_of_40_lengths(how, compiled, runner, tmp_path):
    run = runner(NEWEST)
    for process in ("first", "second"):
        run(str(PROGRAMS / "ragged_mask.py"), str(tmp_path / f"{process}.jsonl"), "cuda:90", how)

    assert counts(Recording.read(tmp_path / "first.jsonl")) == (compiled, 0, 40 - compiled)
    assert counts(Recording.read(tmp_path / "second.jsonl")) == (0, compiled, 40 - compiled)


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_each_test_on_triton_holds(version, runner):
    command = (
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:triton_doctor",
        "--import-mode=prepend",
        str(REPOSITORY / "tests" / "runtime" / "on_triton"),
    )
    done = runner(version)(*command, TRITON_DOCTOR_TESTS_ON_TRITON="1")

    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 25


@pytest.mark.parametrize("version", [VERSIONS[0], NEWEST])
def test_kernel_in_interpreter_mode_is_told_once(version, runner, tmp_path):
    program = str(PROGRAMS / "interpreted.py")
    done = runner(version)(program, str(tmp_path / "run.jsonl"), "cuda:90", TRITON_INTERPRET="1")
    recording = Recording.read(tmp_path / "run.jsonl")

    assert done.stdout == f"{[8.0] * 16}\n"
    assert [warning.message for warning in recording.warnings] == ["`double` runs in interpreter mode"]
    assert recording.warnings[0].kernel.name == "double"
    assert recording.compiles == ()

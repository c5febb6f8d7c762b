"""Commands whose working directory was removed, as deploys and CI workspaces are."""

import os
import subprocess
import sys

import pytest

from tests.runtime.tritons import REPOSITORY

GONE = "triton-doctor: the working directory is gone"
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, n: tl.constexpr):
    pass
"""


@pytest.fixture
def call(tmp_path):
    """Call triton-doctor where the working directory is gone; FOLDER in a word is one that is there."""

    def call_gone(*words):
        (tmp_path / "k.py").write_text(KERNEL)
        command = 'mkdir gone && cd gone && rmdir "$PWD" && exec "$@"'
        # Python itself runs no `-m` there.
        code = "import sys; from triton_doctor.__main__ import main; sys.exit(main())"
        arguments = [sys.executable, "-c", code, *(word.replace("FOLDER", str(tmp_path)) for word in words)]
        path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
        return subprocess.run(
            ["sh", "-c", command, "sh", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return call_gone


@pytest.mark.parametrize(
    "words",
    [
        ("check",),
        ("check", "FOLDER/k.py"),
        ("check", "--fix", "FOLDER/k.py"),
        ("explain", "scale", "FOLDER/k.py"),
        ("sweep", "FOLDER/k.py:f", "--vary", "n=1,2"),
        ("cache", "unpack", "FOLDER/k.py", "--cache-dir", "new"),
        ("run", "-o", "r.jsonl", "-c", "pass"),
    ],
    ids=" ".join,
)
def test_command_that_needs_the_working_directory_says_that_it_is_gone(call, words):
    done = call(*words)

    assert (done.returncode, done.stderr.splitlines()[0]) == (2, GONE)


@pytest.mark.parametrize("words", [("env",), ("rule",), ("cache", "list"), ("top", "--once")], ids=" ".join)
def test_command_that_needs_none_works_without_a_working_directory(call, words):
    done = call(*words)

    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    assert GONE not in done.stderr


def test_program_that_python_runs_without_a_working_directory_runs_and_is_reported(call, tmp_path):
    assert call("run", "-c", "print('done')").stdout == "done\n"

    kernels = REPOSITORY / "tests" / "runtime" / "launch"
    (tmp_path / "program.py").write_text(
        f"import sys\nsys.path.append({str(kernels)!r})\nimport kernels\nkernels.launch(1)"
    )
    done = call("run", "-o", "FOLDER/r.jsonl", "--target", "cuda:90", "FOLDER/program.py")
    assert done.returncode == 0, done.stderr
    assert "scale" in done.stderr
    assert "scale" in call("report", "FOLDER/r.jsonl").stdout

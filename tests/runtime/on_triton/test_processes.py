"""A recording outlives its process, and a fork."""

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from triton_doctor import Recording


def run_program(body):
    """`body` in a process of its own, after what each program begins with."""
    begin = (
        "import os, signal, triton_doctor\n"
        "from kernels import copy, launch\n"
        "from triton_doctor.runtime.compile_target import activate\n"
        "activate('cuda:90')\n"
        # A pointer of Triton's own: the import of torch would take most of the time of a process.
        "from triton.runtime.jit import MockTensor\n"
        "x, kernel = MockTensor('float32'), copy()\n"
    )
    command = [sys.executable, "-c", begin + textwrap.dedent(body)]
    return subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)


def test_file_survives_kill_9(tmp_path):
    done = run_program(f"""
        with triton_doctor.record({str(tmp_path / "killed.jsonl")!r}):
            launch(kernel, x)
            os.kill(os.getpid(), signal.SIGKILL)
    """)

    assert done.returncode == -signal.SIGKILL
    assert Recording.read(tmp_path / "killed.jsonl").count == 1


def test_forked_child_writes_a_file_of_its_own(tmp_path):
    done = run_program(f"""
        with triton_doctor.record({str(tmp_path / "run.jsonl")!r}):
            launch(kernel, x, value=1)
            child = os.fork()
            if child == 0:
                for _ in range(3):
                    launch(kernel, x, value=2)
            else:
                os.waitpid(child, 0)
                launch(kernel, x, value=3)
                print(child)
    """)
    parent, child = (Recording.read(tmp_path / name) for name in ("run.jsonl", f"run.{done.stdout.strip()}.jsonl"))

    assert [dict(event.key.constants)["VALUE"] for event in parent.compiles] == [1, 3]
    assert [dict(event.key.constants)["VALUE"] for event in child.compiles] == [2]
    assert (sum(parent.launches.values()), sum(child.launches.values())) == (2, 3)


def test_forked_child_that_compiles_nothing_writes_nothing(tmp_path):
    done = run_program(f"""
        with triton_doctor.record({str(tmp_path / "run.jsonl")!r}):
            launch(kernel, x)
            child = os.fork()
            if child:
                os.waitpid(child, 0)
    """)

    assert done.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["run.jsonl"]
    # A count of launches is written whenever a second has passed, so on a busy machine there are more of them.
    kinds = [json.loads(line)["event"] for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert [kind for kind in kinds if kind != "launches"] == ["header", "compile", "module", "end"]

"""`attach`: what a real process that was never watched does, read from outside."""

import json
import subprocess
import sys
import time

import pytest

from tests.runtime.tritons import REPOSITORY
from triton_doctor.errors import DoctorError
from triton_doctor.runtime.live.attach import write_script
from triton_doctor.runtime.live.stacks import StackFrame, ThreadStack, find_place, read_activity, read_stacks

KERNELS = REPOSITORY / "tests" / "runtime" / "launch"
AT_MOST_S = 60
PROGRAM = f"""
import sys
sys.path.append({str(KERNELS)!r})
from triton_doctor import compile_only
with compile_only("cuda:80"):
    from kernels import launch
    launch(10)
"""


@pytest.fixture
def start(runner, tmp_path):
    """Start a program whose ptxas does not come back; ended with the test."""
    started = []
    tool = tmp_path / "ptxas"
    tool.write_text('#!/bin/sh\n[ "$1" = --version ] && { echo "release 12.4, V12.4.99"; exit; }\nsleep 600\n')
    tool.chmod(0o755)

    def begin(version):
        (tmp_path / "program.py").write_text(PROGRAM)
        environment = runner(version).environment | {"TRITON_PTXAS_PATH": str(tool)}
        process = subprocess.Popen([sys.executable, str(tmp_path / "program.py")], env=environment)
        started.append(process)
        return process

    yield begin
    for process in started:
        subprocess.run(["pkill", "-P", str(process.pid)], check=False)
        process.kill()
        process.wait()


def require_sight(pid):
    try:
        read_stacks(pid)
    except DoctorError as error:
        if "not installed" in error.message or "does not let us" in error.message:
            pytest.skip(error.message)


def is_in_one_stage(seen):
    """Whether every sample saw the same activity."""
    return [one["samples"] for one in seen["activities"]] == [seen["samples"]]


@pytest.mark.parametrize("version", ["3.2.0", "3.9.0"])
def test_compile_of_a_process_that_is_not_watched_is_named_with_kernel_stage_and_line(start, runner, version):
    process = start(version)
    python = runner()
    require_sight(process.pid)
    deadline = time.monotonic() + AT_MOST_S
    command = ("-m", "triton_doctor", "top", str(process.pid), "--output-format", "json")
    # On a busy machine a look may begin before the compile comes to its last stage.
    while not (seen := json.loads(python(*command).stdout))["tool"] or not is_in_one_stage(seen):
        assert time.monotonic() < deadline, seen
        assert process.poll() is None

    (activity,) = seen["activities"]
    assert (activity["what"], activity["kernel"], activity["stage"]) == ("compiling", "scale", "cubin")
    assert activity["path"] == str(KERNELS / "kernels.py")
    assert activity["source"] == "kernel[(1,)](Memory(), n, BLOCK=64)"
    assert seen["tool"]["name"] == "ptxas"


def test_process_that_compiles_nothing_is_said_to_and_where_it_is(runner, tmp_path):
    program = tmp_path / "idle.py"
    program.write_text("import time\nprint('ready', flush=True)\ntime.sleep(600)\n")
    process = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        require_sight(process.pid)
        said = runner()("-m", "triton_doctor", "top", str(process.pid)).stdout
    finally:
        process.kill()
        process.communicate()

    assert "compiles, builds, tunes and loads nothing of Triton's, in 5 looks" in said
    assert f"thread MainThread is at {program}:3 in <module>" in said


def test_triton_and_the_program_are_told_apart_wherever_they_are():
    def frame(path, function="f", **values):
        return StackFrame(path=path, function=function, line=1, values=values)

    compiling = frame("/src/triton/python/triton/compiler/compiler.py", "compile", file_name='"rope"', ext='"cubin"')
    lowering = frame(
        "/src/triton/python/triton/backends/nvidia/compiler.py", "CUDABackend.add_stages.<locals>.<lambda>"
    )
    program = frame("/src/triton/mine/serve.py")
    stack = ThreadStack(thread=1, name="MainThread", frames=(lowering, compiling, program))

    activity = read_activity(stack, 1)
    assert (activity.kernel, activity.stage, activity.path) == ("rope", "cubin", "/src/triton/mine/serve.py")
    waiting = frame("/usr/lib/python3.12/threading.py")
    torch = frame("/usr/lib/python3.12/site-packages/torch/nn/module.py")
    assert find_place(ThreadStack(thread=1, name="", frames=(waiting, torch, program))) is program


def test_what_a_process_runs_to_be_watched_keeps_a_live_file_and_logs(runner):
    program = f"""
import logging, os, sys
sys.path.append({str(KERNELS)!r})
import triton
for name in [name for name in sys.modules if name.startswith("triton_doctor")]:
    del sys.modules[name]
logging.basicConfig(level=logging.INFO)
exec({write_script()!r})
print("begin" in globals())
from triton_doctor import compile_only
from triton_doctor.runtime.live.states import gather_states
with compile_only("cuda:90"):
    from kernels import launch
    launch(10, 11)
print([state.compiled for state in gather_states() if state.pid == os.getpid()])
"""
    done = runner()("-c", program)

    assert done.stdout.splitlines() == ["False", "[2]"]
    assert done.stderr.count("INFO:triton_doctor:`scale` compiled in") == 2


def test_watching_needs_a_python_that_can_reach_into_another(runner):
    done = runner()("-m", "triton_doctor", "top", "1", "--watch", check=False)

    if sys.version_info >= (3, 14):
        pytest.skip("this Python can")
    assert done.returncode == 2
    assert "--watch needs Python 3.14" in done.stderr
    assert "hint: restart it under `triton-doctor run`" in done.stderr

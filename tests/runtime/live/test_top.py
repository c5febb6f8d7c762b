"""What `top` shows of real processes: compiling, stopped, killed, and waiting for a compiler that hangs."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
import zlib
from pathlib import Path

import msgspec
import pytest

from tests.runtime.tritons import REPOSITORY
from tests.tritons import skip_without
from triton_doctor.runtime.live.activity import Activity
from triton_doctor.runtime.live.file import SIZE
from triton_doctor.runtime.live.live_folder import live_folder
from triton_doctor.runtime.live.state_wording import describe_long, describe_state
from triton_doctor.runtime.live.states import (
    ProcessState,
    gather_states,
    read_folder,
    read_nodes,
    read_state,
    sort_states,
    write_node,
)

KERNELS = REPOSITORY / "tests" / "runtime" / "launch"
PROGRAM = f"import sys\nsys.path.append({str(KERNELS)!r})\nfrom kernels import launch\n"
AT_MOST_S = 60


@pytest.fixture
def start(runner, tmp_path):
    """Start a program, given as text, under `run`; ended with the test."""
    started = []

    def begin(program, *options, version="3.9.0", before=(), **variables):
        (tmp_path / "program.py").write_text(PROGRAM + program)
        python = runner(version)
        command = [sys.executable, "-m", "triton_doctor", "run", "--target", "cuda:80", *options, *before]
        with (tmp_path / "said").open("wb") as said:
            process = subprocess.Popen(
                [*command, str(tmp_path / "program.py")],
                env=python.environment | variables,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            for state in gather_states(pids={process.pid}):
                os.kill(state.pid, signal.SIGKILL)
                Path(state.path).unlink(missing_ok=True)
        process.wait()


@pytest.fixture
def slow_tool(tmp_path):
    """A compiler that waits until `release` is there, then fails; it knows its version."""

    def make(name):
        path = tmp_path / name
        wait = f"while [ ! -e {tmp_path}/release ]; do sleep 0.1; done"
        path.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "release 12.4, V12.4.99"; exit; }}\n{wait}\nexit 1\n'
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


def wait_for(states, until):
    """The states once `until` holds of them."""
    deadline = time.monotonic() + AT_MOST_S
    while not until(found := states()):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def is_building(found):
    return len(found) == 1 and found[0].tool is not None and found[0].activities[-1].what == "building a launcher"


@pytest.mark.long
def test_all_ranks_are_shown_with_what_they_compile_and_wait_for(start, slow_tool, runner, tmp_path):
    skip_without("torch")
    torchrun = ("-m", "torch.distributed.run", "--nproc_per_node=8")
    run = start("launch(10)", "-o", str(tmp_path / "job"), before=torchrun, TRITON_PTXAS_PATH=slow_tool("ptxas"))

    def ranks():
        return [state for state in gather_states(pids={run.pid}) if state.rank is not None]

    found = wait_for(ranks, lambda states: sum(state.tool is not None for state in states) == 8)
    assert sorted(state.rank for state in found) == list(range(8))
    assert {(state.activities[0].kernel, state.activities[0].stage, state.tool.name) for state in found} == {
        ("scale", "cubin", "ptxas")
    }
    assert {state.activities[0].path for state in found} == {str(KERNELS / "kernels.py")}

    stopped, killed = found[2], found[5]
    os.kill(stopped.pid, signal.SIGSTOP)
    health = wait_for(ranks, lambda states: any(state.health == "stopped" for state in states))
    assert health[0].rank == stopped.rank
    assert describe_state(health[0], time.time_ns()).startswith(
        "stopped (SIGSTOP, or a debugger): compiling `scale` for"
    )
    python = runner()
    top = json.loads(python("-m", "triton_doctor", "top", str(run.pid), "--output-format", "json").stdout)
    shown = {process["rank"]: process for process in top["processes"] if process["rank"] is not None}
    assert shown[stopped.rank]["health"] == "stopped"
    assert shown[0]["activities"][0]["kernel"] == "scale"
    table = python("-m", "triton_doctor", "top", "--once", str(tmp_path / "job")).stdout
    assert table.count("compiling `scale` for") == 8

    os.kill(killed.pid, signal.SIGKILL)
    gone = wait_for(
        lambda: [state for state in read_all() if state.pid == killed.pid], lambda states: states[0].health == "gone"
    )
    assert "ended without closing its recording, killed?" in describe_state(gone[0], time.time_ns())
    os.kill(stopped.pid, signal.SIGCONT)
    (tmp_path / "release").touch()
    run.wait(AT_MOST_S)
    assert [state for state in read_all() if state.run == found[0].run] == []
    assert not list((tmp_path / "job").glob("*.live"))


def read_all():
    return gather_states()


def test_process_that_hangs_in_gcc_is_shown_as_that(start, slow_tool, runner, tmp_path):
    program = """
import triton
from triton.backends.nvidia.driver import CudaLauncher
import kernels
compiled = kernels.scale.warmup(kernels.Memory(), 10, BLOCK=64, grid=(1,))
CudaLauncher(compiled.src, compiled.metadata)
"""
    run = start(program, version="3.6.0", CC=slow_tool("gcc"), TRITON_LIBCUDA_PATH=str(tmp_path))

    (found,) = wait_for(lambda: gather_states(pids={run.pid}), is_building)
    assert found.tool.name == "gcc"
    text = describe_state(found, time.time_ns() + 60_000_000_000)
    assert text.startswith("building a launcher for `scale` for 60 s")
    assert f"in gcc (pid {found.tool.pid}" in text
    os.kill(found.tool.pid, signal.SIGSTOP)
    stopped = wait_for(
        lambda: gather_states(pids={run.pid}), lambda states: is_building(states) and states[0].tool.state == "T"
    )
    assert f"hangs in gcc (pid {found.tool.pid}, stopped)" in describe_state(stopped[0], time.time_ns())


def test_compile_is_readable_before_its_first_tool_runs_and_cached_launches_write_little(runner, tmp_path):
    """The ptxas of the program copies the live files of that moment, and runs the real one."""
    python = runner()
    real = python("-c", "from triton.knobs import nvidia; print(nvidia.ptxas.path)").stdout.strip()
    copy = tmp_path / "ptxas"
    copy.write_text(f'#!/bin/sh\ncp {live_folder()}/$PPID-* {tmp_path}/seen 2>/dev/null\nexec {real} "$@"\n')
    copy.chmod(0o755)
    (tmp_path / "program.py").write_text(
        PROGRAM
        + """
import os, time
launch(10)
from triton_doctor.runtime.live.file import LiveFile
writes, write = [], LiveFile._write
LiveFile._write = lambda self: writes.append(self) or write(self)
began = time.monotonic()
launch(*[10] * 20_000)
print(len(writes) <= 2 + (time.monotonic() - began) / 0.25)
launch(11)
print(len(writes))
"""
    )
    command = ("-m", "triton_doctor", "run", "--target", "cuda:80", str(tmp_path / "program.py"))
    done = python(*command, TRITON_PTXAS_PATH=str(copy))

    seen = read_state(str(tmp_path / "seen"))
    assert (seen.activities[0].kernel, seen.activities[0].variant, seen.activities[0].stage) == ("scale", 2, "cubin")
    few, writes = done.stdout.split()
    assert few == "True"
    assert int(writes) < 30


@pytest.mark.parametrize("leave", ["pass", "os._exit(0)", "os.execv('/bin/true', ['true'])"])
def test_live_file_is_gone_after_the_process_and_each_forked_child_has_its_own(runner, tmp_path, leave):
    (tmp_path / "program.py").write_text(
        PROGRAM
        + f"""
import os
from triton_doctor.runtime.live.states import gather_states
launch(10)
child = os.fork()
if not child:
    launch(11)
    mine = [state for state in gather_states() if state.pid in (os.getpid(), os.getppid())]
    print(sorted((state.pid == os.getpid(), state.compiled, state.health) for state in mine), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(os.getpid(), child, flush=True)
{leave}
"""
    )
    command = ("-m", "triton_doctor", "run", "--target", "cuda:80", str(tmp_path / "program.py"))
    own, pids = runner()(*command).stdout.splitlines()

    assert own == "[(False, 1, 'running'), (True, 1, 'running')]"
    assert not {state.pid for state in gather_states()} & {int(pid) for pid in pids.split()}


def test_states_of_a_thousand_ranks_are_read_and_sorted_worst_first():
    def state(rank, since_ns=None, health="running"):
        doing = () if since_ns is None else (Activity(what="compiling", kernel="rope", since_ns=since_ns),)
        return ProcessState(pid=rank, host="node", at_ns=1, rank=rank, activities=doing, health=health)

    ranks = [state(rank) for rank in range(1024)]
    ranks[3], ranks[700], ranks[9], ranks[8] = (
        state(3, 20),
        state(700, 10),
        state(9, 30, "stopped"),
        state(8, 5, "gone"),
    )

    order = [one.rank for one in sort_states(reversed(ranks))]
    assert order[:6] == [8, 9, 700, 3, 0, 1]
    assert sorted(order) == list(range(1024))


def test_node_that_says_nothing_any_more_is_shown_as_that(tmp_path):
    one = ProcessState(pid=1, host="a", at_ns=1, rank=0)
    write_node(tmp_path / "a.live", [one], "a")
    write_node(tmp_path / "b.live", [one], "b")
    old = (tmp_path / "b.live").read_text().replace('"at_ns":1', '"at_ns":0')
    (tmp_path / "b.live").write_text(re.sub(r'^(\{"host":"b","at_ns":)\d+', r"\g<1>0", old))
    (tmp_path / "c.live").write_text("{")

    assert [state.health for state in read_nodes(tmp_path)] == ["unheard", "running"]


def test_what_takes_long_is_told_again_after_each_doubling():
    told = {}
    lines = []
    for second in range(45):
        doing = (Activity(what="compiling", kernel="rope", since_ns=0, variant=1, stage="cubin"),)
        state = ProcessState(pid=7, host="a", at_ns=1, rank=2, activities=doing)
        lines += describe_long([state], second * 1_000_000_000, told)

    assert lines[0] == "rank 2: process 7 compiling `rope` for 5.0 s, variant 1: stage cubin"
    assert [re.search(r"for (\d+)", line)[1] for line in lines] == ["5", "10", "20", "40"]


def test_process_whose_live_file_cannot_be_written_runs_as_ever(runner, tmp_path):
    blocked = tmp_path / "no folder"
    blocked.write_text("")
    program = tmp_path / "program.py"
    program.write_text(
        f"import os\nfrom triton_doctor.runtime.live import live_folder as folder\n"
        f"folder.IN_MEMORY = os.environ['TMPDIR'] = {str(blocked)!r}\n"
        f"{PROGRAM}launch(10)\nprint('done')\n"
    )
    command = ("-m", "triton_doctor", "run", "--target", "cuda:80", str(program))
    done = runner()(*command)

    assert done.stdout == "done\n"


def test_half_written_and_foreign_files_are_left_out(tmp_path):
    (tmp_path / "1-1").write_bytes(b'00000000 00000010\n{"schema":1}')
    (tmp_path / "2-2").write_bytes(b"")
    (tmp_path / "3-3").write_bytes(os.urandom(5000))

    assert list(read_folder(str(tmp_path))) == []
    assert list(read_folder(str(tmp_path / "none"))) == []


def test_name_that_is_no_process_and_no_folder_is_one_line_with_a_hint(runner, tmp_path):
    python = runner()

    for word, said in (("999999999", "there is no process 999999999"), (str(tmp_path), "no run records into")):
        done = python("-m", "triton_doctor", "top", word, check=False)
        assert done.returncode == 2
        assert said in done.stderr
        assert "hint: " in done.stderr


def make_odd_files(folder, suffix=""):
    """What may lie among live files: far too large, and what no file is."""
    with (folder / f"sparse{suffix}").open("wb") as sparse:
        sparse.truncate(64 << 30)
    os.mkfifo(folder / f"fifo{suffix}")
    (folder / f"folder{suffix}").mkdir()
    (folder / f"device{suffix}").symlink_to("/dev/zero")
    (folder / f"gone{suffix}").symlink_to("nowhere")


def test_odd_files_among_live_files_are_passed_over(tmp_path):
    make_odd_files(tmp_path)
    text = msgspec.json.encode(ProcessState(pid=7, host="a", at_ns=1))
    deep = b"[" * 4000
    for name, data in {"live": text, "deep": deep}.items():
        (tmp_path / name).write_bytes(b"%08x %08x\n%b\n" % (zlib.crc32(data), len(data), data) + bytes(3000))

    assert [state.pid for state in read_folder(str(tmp_path))] == [7]


def test_odd_files_among_those_of_nodes_are_passed_over(tmp_path):
    make_odd_files(tmp_path, ".live")
    write_node(tmp_path / "node.live", [ProcessState(pid=7, host="a", at_ns=1)], "a")

    assert [state.pid for state in read_nodes(tmp_path)] == [7]


def test_live_file_is_a_page_at_most():
    assert SIZE == 4096

"""A rank that waits for others in a collective of torch.distributed, by its stack."""

import socket
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from tests.runtime.live.test_attach import require_sight
from triton_doctor.errors import DoctorError
from triton_doctor.runtime.live.live_folder import namespace
from triton_doctor.runtime.live.samples import find_waits
from triton_doctor.runtime.live.stacks import StackFrame, ThreadStack, find_wait, read_stacks
from triton_doctor.runtime.live.state_wording import describe_state
from triton_doctor.runtime.live.states import ProcessState

AT_MOST_S = 60
LIMIT = "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"
PROGRAM = """
import sys, torch, torch.distributed as dist
rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=2)
if rank == 1:
    sys.stdin.read()
dist.all_reduce(torch.ones(1))
print("summed", flush=True)  # at the end of the process gloo aborts where the other rank has left before
"""
IN_COLLECTIVE = "in a collective (`all_reduce`)"
WAITING = ProcessState(pid=7, host="a", at_ns=0, rank=0, launches=3, launched_at_ns=1, waits=IN_COLLECTIVE)


def stack_of(*functions: str) -> ThreadStack:
    path = "/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py"
    frames = (StackFrame(function=name, path=path, line=1, values={}) for name in functions)
    return ThreadStack(thread=1, name="MainThread", frames=tuple(frames))


@pytest.mark.parametrize(
    ("functions", "found"),
    [
        (("all_reduce",), "all_reduce"),
        (("all_reduce", "barrier"), "barrier"),
        (("_store_based_barrier", "init_process_group"), ""),
        (("new_group",), ""),
        (("recv",), ""),
        ((), ""),
    ],
)
def test_collective_is_what_the_program_called_and_neither_a_group_nor_a_message(functions, found):
    assert find_wait([stack_of(*functions)]) == (f"in a collective (`{found}`)" if found else "")


def test_rank_behind_a_collective_of_nccl_waits_for_its_gpu():
    path = "/lib/python3.12/site-packages/torch/cuda/__init__.py"
    frames = (StackFrame(function="synchronize", path=path, line=1, values={}),)

    assert find_wait([ThreadStack(thread=1, name="MainThread", frames=frames)]) == "for its GPU (`synchronize`)"


@pytest.mark.parametrize(
    ("limit", "after_s", "words"),
    [
        (None, 30, "waiting in a collective (`all_reduce`), nothing launched for 30 s"),
        (40.0, 29, "waiting in a collective (`all_reduce`), nothing launched for 29 s"),
        (
            40.0,
            31,
            f"waiting in a collective (`all_reduce`), nothing launched for 31 s, near {LIMIT}=40",
        ),
    ],
)
def test_waiting_rank_is_near_a_limit_from_three_quarters_of_it(limit, after_s, words):
    assert describe_state(replace(WAITING, heartbeat_s=limit), after_s * 10**9 + 1) == words


def seen_waiting(pid: int) -> str:
    """What process `pid` waits in; nothing before its interpreter is there."""
    try:
        return find_wait(read_stacks(pid))
    except DoctorError:
        return ""


def test_idle_rank_is_seen_waiting_in_all_reduce_until_the_other_arrives(runner, tmp_path):
    environment = runner().environment | {LIMIT: "25"}
    command = (sys.executable, "-c", PROGRAM)
    ranks = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "store")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in (0, 1)
    ]
    try:
        require_sight(ranks[0].pid)
        deadline = time.monotonic() + AT_MOST_S
        while seen_waiting(ranks[0].pid) != IN_COLLECTIVE:
            assert time.monotonic() < deadline
            assert ranks[0].poll() is None
        idle = replace(WAITING, pid=ranks[0].pid, host=socket.gethostname(), namespace=namespace())
        (waiting,) = find_waits([replace(idle, waits="")])
        (launching,) = find_waits([replace(idle, waits="", launched_at_ns=time.time_ns())])
        printed = [rank.communicate(timeout=AT_MOST_S)[0] for rank in reversed(ranks)]

        assert (waiting.waits, waiting.heartbeat_s) == (IN_COLLECTIVE, 25.0)
        assert launching.waits == ""
        assert printed == ["summed\n", "summed\n"]
    finally:
        for rank in ranks:
            rank.kill()

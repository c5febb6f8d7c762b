"""On a dask cluster: a scheduler and two workers on loopback, one of which is killed in the middle."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.prewarm.conftest import REPOSITORY, Workshop

pytest.importorskip("distributed", reason="needs dask.distributed, the extra `cluster`")
ROWS = Path(__file__).parent / "programs" / "rows.py"
LENGTHS = 24
RECORD = f"""
import sys, torch, triton_doctor
sys.path.insert(0, {str(ROWS.parent)!r})
from rows import scale
with triton_doctor.compile_only("cuda:90"), triton_doctor.record("run.jsonl"):
    for block in range({LENGTHS}):
        scale[(1,)](torch.ones(4096), 100, BLOCK=16 << block % 4, num_warps=1 << block % 3, num_stages=1 + block // 12)
"""


@contextlib.contextmanager
def dask(workshop: Workshop, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the cluster, which can import the tests' kernels."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([workshop.path, str(ROWS.parent)])}
    environment["DASK_DISTRIBUTED__WORKER__DAEMON"] = "False"
    with (workshop.folder / "dask.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *words], env=environment, cwd=workshop.folder, stdout=log, stderr=log
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def wait_for(what: str, holds: object, process: subprocess.Popen[str] | None = None) -> None:
    """Until `holds()`; the machine may be slow."""
    ends = time.monotonic() + 120
    while not holds():  # type: ignore[operator]
        if time.monotonic() > ends or (process is not None and process.poll() is not None):
            pytest.fail(f"no {what}")
        time.sleep(0.05)


def entries(folder: Path) -> dict[str, bytes]:
    """The binaries of a cache folder, by entry and name; not those that a worker is about to move in."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("[!.]*/*.cubin")}


@pytest.mark.long
def test_cluster_compiles_what_the_local_pool_does_and_loses_nothing_when_a_worker_dies(workshop: Workshop) -> None:
    from distributed import Client

    folder = workshop.folder
    workshop.run("-c", RECORD, TRITON_CACHE_DIR=folder / "recorded")
    expected = entries(folder / "recorded")
    address = f"tcp://127.0.0.1:{free_port()}"
    host, port = address.removeprefix("tcp://").split(":")
    worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
    with (
        dask(workshop, "distributed.cli.dask_scheduler", "--host", host, "--port", port, "--no-dashboard"),
        dask(workshop, *worker) as first,
        dask(workshop, *worker),
        Client(address, timeout=120, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=120)
        command = [sys.executable, "-m", "triton_doctor", "prewarm", "run.jsonl", "--recorded-only"]
        warm = folder / "warm"
        with subprocess.Popen(
            [*command, "--cluster", f"dask:{address}", "--cache-dir", str(warm)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": workshop.path},
            stdout=subprocess.PIPE,
            text=True,
        ) as prewarming:
            wait_for("entry of the cluster's", lambda: len(entries(warm)) >= 4, prewarming)
            first.send_signal(signal.SIGKILL)
            printed = prewarming.communicate()[0]

    assert prewarming.returncode == 0, printed
    assert f"cuda:90: {len(expected)} compiled, 0 found in the cache" in printed
    assert entries(warm) == expected
    groups = [json.loads(path.read_text()) for path in warm.rglob("__grp__*.json")]
    assert all(Path(child).is_file() for group in groups for child in group["child_paths"].values())
    assert "0 missed, 0 unused" in workshop.doctor(
        "prewarm", "--check", "--recorded-only", "run.jsonl", "--cache-dir", "warm"
    )


def test_cluster_that_does_not_answer_is_one_line(workshop: Workshop) -> None:
    recording = REPOSITORY / "fixtures" / "recordings" / "vector_add.jsonl"
    printed = workshop.doctor("prewarm", recording, "--cluster", "ray:auto", "--cache-dir", "warm", status=2)

    assert "triton-doctor: no such cluster: 'ray:auto'" in printed

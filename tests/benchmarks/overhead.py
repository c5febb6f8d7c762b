"""What watching costs: ratios, interleaved in one run, and the memory that it holds.

`python tests/benchmarks/overhead.py gpu|cuda:90 [--memory | --processes]`. Limits: a cached launch 1.01 times, a
compile 1.02, and 50 MB for 1,000,000 launches and 10,000 compiles. A control is bare against bare: what it differs from
1 by is noise. `live` is the live file alone, which `run` has too; `metrics` are those of Prometheus alone.
`--processes` compares whole processes, for `run` is one: bare, in `record()`, with `@watch`, under `triton-doctor run`,
and with `TRITON_DOCTOR=metrics,guard`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LAUNCHES, ROUNDS, WARMUP = 1000, 240, 100
COMPILES = 150
WAYS = ("bare", "control", "record", "watch", "run", "services")
# Where a process has its memory makes its launches faster or slower by a few percent: groups of processes, in each of
# which the ways take turns.
GROUPS, TURNS = 6, 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--processes", action="store_true")
    parser.add_argument(
        "--way", choices=WAYS, help="used by --processes: time launches in one way, when asked on stdin"
    )
    arguments = parser.parse_args()
    if arguments.processes:
        compare_processes(arguments.target)
        return
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        import triton_doctor

        target = arguments.target
        with contextlib.nullcontext() if target == "gpu" else triton_doctor.compile_only(target):
            kernels = Kernels("cuda" if target == "gpu" else "cpu")
            if arguments.way:
                time_when_asked(kernels, arguments.way)
                return
            print_versions(target)
            if arguments.memory:
                measure_memory(kernels)
            else:
                measure_launches("cached launch", kernels.launch)
                measure_launches("cached launch, autotuned", kernels.launch_tuned)
                measure_compiles(kernels)


class Kernels:
    """A vector add, as it is launched and as it compiles anew."""

    def __init__(self, device: str) -> None:
        import overhead_kernels
        import torch

        self.source = overhead_kernels
        x, y, out = (torch.zeros(4096, device=device) for _ in range(3))
        self.arguments = (x, y, out, 4096)
        self.synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
        self.launch()
        self.launch_tuned()

    def launch(self) -> None:
        self.source.add[(1,)](*self.arguments, 0, BLOCK=256)

    def launch_tuned(self) -> None:
        self.source.tuned_add[(1,)](*self.arguments, 0)

    def launch_value(self, value: int, kernel: object = None) -> None:
        (kernel or self.source.add)[(1,)](*self.arguments, value, BLOCK=256)


class Run:
    """What `triton-doctor run` does in a process, begun and ended again and again: a file, and counts of launches."""

    def __init__(self) -> None:
        from triton_doctor.runtime.launch.joining import LaunchesNote
        from triton_doctor.runtime.live.file import LiveFile
        from triton_doctor.runtime.watch import Session

        folder = Path(os.environ["TRITON_CACHE_DIR"])
        self.session = Session(folder / "run.jsonl")
        self.note = LaunchesNote(self.session, str(folder))
        self.live = LiveFile()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        from triton_doctor.runtime import hooks

        hooks.attach(self.session.receive)
        self.session.count_from(hooks.launches_so_far())
        hooks.call_while_launching(self.note.write)
        hooks.attach(self.live.receive)
        self.live.open()
        try:
            yield
        finally:
            hooks.detach(self.live.receive)
            hooks.detach(self.session.receive)


@contextlib.contextmanager
def keep_live_file() -> Iterator[None]:
    """What each watched process does for `top`."""
    from triton_doctor.runtime import hooks
    from triton_doctor.runtime.live.file import LiveFile

    live = LiveFile()
    hooks.attach(live.receive)
    live.open()
    try:
        yield
    finally:
        hooks.detach(live.receive)
        live.close()


@contextlib.contextmanager
def count_in_prometheus() -> Iterator[None]:
    from prometheus_client import CollectorRegistry

    from triton_doctor import metrics

    counting = metrics.start(CollectorRegistry())
    try:
        yield
    finally:
        counting.stop()


def measure_launches(what: str, launch: Callable[[], None]) -> None:
    import triton_doctor

    modes = {
        "bare": contextlib.nullcontext,
        "control": contextlib.nullcontext,
        "watch": triton_doctor.warmed_up,  # attached as `@watch` is, which nothing ends
        "record": triton_doctor.record,
        "live": keep_live_file,
        "metrics": count_in_prometheus,
        "run": Run(),
    }
    seconds = {mode: [] for mode in modes}
    order = list(modes)
    for _ in range(ROUNDS):
        order = order[1:] + order[:1]
        for mode in order:
            with modes[mode]():
                for _ in range(WARMUP):
                    launch()
                started = time.perf_counter()
                for _ in range(LAUNCHES):
                    launch()
                seconds[mode].append(time.perf_counter() - started)
    print(f"{what}: bare {statistics.median(seconds['bare']) / LAUNCHES * 1e6:.2f} us")
    print_ratios(seconds, f"of {ROUNDS} rounds")


def measure_compiles(kernels: Kernels) -> None:
    """Compile a kernel made anew for each value and mode, so that none has others in memory."""
    modes = {
        "bare": contextlib.nullcontext,
        "control": contextlib.nullcontext,
        "live": keep_live_file,
        "metrics": count_in_prometheus,
        "run": Run(),
    }
    seconds = {mode: [] for mode in modes}
    value = 100
    for _ in range(COMPILES):
        # By lot: what a compile leaves behind falls on the next, whichever that is.
        for mode in random.sample(list(modes), len(modes)):
            value += 1
            kernel = kernels.source.make_kernel()
            with modes[mode]():
                started = time.perf_counter()
                kernels.launch_value(value, kernel)
                seconds[mode].append(time.perf_counter() - started)
    print(f"compile: bare {statistics.median(seconds['bare']) * 1e3:.1f} ms")
    print_ratios(seconds, f"of {COMPILES} rounds")


def print_ratios(seconds: dict[str, list[float]], of: str) -> None:
    """Print each mode's median ratio to the bare measurement of its round, with quartiles."""
    for mode, measured in seconds.items():
        if mode != "bare":
            ratios = [one / bare for one, bare in zip(measured, seconds["bare"], strict=True)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f"  {mode}: {middle:.4f} (quartiles {low:.4f}, {high:.4f} {of})", flush=True)


def compare_processes(target: str) -> None:
    """Print each way's median ratio to the bare process of its group, by group and of all rounds."""
    together: dict[str, list[float]] = {way: [] for way in WAYS}
    cores = sorted(os.sched_getaffinity(0))
    for group in range(GROUPS):
        core = cores[group % len(cores)]
        processes = {way: start_process(target, way) for way in WAYS}
        for process in processes.values():
            answer(process, str(core))
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        order = list(WAYS)
        for _ in range(TURNS):
            order = order[1:] + order[:1]
            for way in order:
                seconds[way].append(float(answer(processes[way], "time")))
        for process in processes.values():
            process.communicate()
        print(f"group {group + 1}: bare {statistics.median(seconds['bare']) * 1e6:.2f} us")
        print_ratios(seconds, f"of {TURNS} rounds")
        for way in WAYS:
            together[way] += seconds[way]
    print("all groups")
    print_ratios(together, f"of {GROUPS * TURNS} rounds")


def start_process(target: str, way: str) -> subprocess.Popen[str]:
    """A process that times launches in one way, as `time_when_asked` does it."""
    doctor = ["-m", "triton_doctor", "run"] if way == "run" else []
    command = [sys.executable, *doctor, __file__, target, "--way", way]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def answer(process: subprocess.Popen[str], line: str) -> str:
    """What `process` says to `line`."""
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return process.stdout.readline()


def time_when_asked(kernels: Kernels, way: str) -> None:
    """For each line on stdin, print the seconds of a cached launch; the first line is the core to run on."""
    import triton_doctor

    if way == "watch":
        triton_doctor.watch(max_compiles=1000)(kernels.source.add)
    if way == "services":
        from triton_doctor.runtime.live.environment_services import begin_services

        begin_services("metrics,guard", lambda name, act: None)
    with triton_doctor.record() if way == "record" else contextlib.nullcontext():
        kernels.launch()
        os.sched_setaffinity(0, {int(sys.stdin.readline())})
        print("ready", flush=True)
        for _ in sys.stdin:
            for _ in range(WARMUP):
                kernels.launch()
            kernels.synchronize()
            started = time.perf_counter()
            for _ in range(LAUNCHES):
                kernels.launch()
            print((time.perf_counter() - started) / LAUNCHES, flush=True)


def measure_memory(kernels: Kernels) -> None:
    """100 values of 100 kernels made anew: 10,000 keys, of which triton compiles 100 and finds the rest on disk."""
    import triton_doctor

    tracemalloc.start()
    with triton_doctor.record(Path(os.environ["TRITON_CACHE_DIR"], "memory.jsonl")) as recording:
        keep = []
        for _ in range(100):
            keep.append(kernels.source.make_kernel())
            for value in range(100, 200):
                kernels.launch_value(value, keep[-1])
        for _ in range(1_000_000):
            kernels.launch()
        ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*triton_doctor*")])
        held = sum(trace.size for trace in ours.traces)
        launches = sum(recording.launches.values())
    print(f"memory after {launches} launches and {recording.count} compiles: {held / 1e6:.1f} MB")


def print_versions(target: str) -> None:
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if target == "gpu" else f"{target}, compiled, not run"
    print(f"triton {triton.__version__}, torch {torch.__version__}, python {sys.version.split()[0]}, {gpu}")


if __name__ == "__main__":
    main()

"""What watching costs: ratios, interleaved in one run, and the memory that it holds.

`python tests/benchmarks/overhead.py gpu|cuda:90 [--memory | --processes]`. Limits: a cached launch 1.01 times without
counting and 1.03 with, a compile 1.02, and 50 MB for 1,000,000 launches and 10,000 compiles. `--processes` compares
whole processes: bare, in `record()`, with `@watch`, and under `triton-doctor run`; limit 1.01.
"""

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

LAUNCHES, ROUNDS = 4000, 60
COMPILES = 100
WAYS = ("bare", "record", "watch", "run")
PROCESSES, TIMINGS = 20, 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--processes", action="store_true")
    parser.add_argument("--way", choices=WAYS, help="used by --processes: time launches in this process, in one way")
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
                print(time_launches(kernels, arguments.way))
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


def measure_launches(what: str, launch) -> None:
    import triton_doctor

    modes = {
        "bare": contextlib.nullcontext,
        "hook": lambda: triton_doctor.record(count_launches=False),
        "hook and counting": triton_doctor.record,
    }
    seconds = {mode: [] for mode in modes}
    order = list(modes)
    for _ in range(ROUNDS):
        order = order[1:] + order[:1]
        for mode in order:
            with modes[mode]():
                launch()
                started = time.perf_counter()
                for _ in range(LAUNCHES):
                    launch()
                seconds[mode].append(time.perf_counter() - started)
    print(f"{what}: bare {statistics.median(seconds['bare']) / LAUNCHES * 1e6:.2f} us")
    for mode in order:
        if mode != "bare":
            pairs = zip(seconds[mode], seconds["bare"], strict=True)
            print(f"  {mode}: {statistics.median(one / bare for one, bare in pairs):.4f} (median of {ROUNDS} ratios)")


def measure_compiles(kernels: Kernels) -> None:
    import triton_doctor

    seconds = {"bare": [], "hook": []}
    value = 100
    for _ in range(COMPILES):
        # By lot: what a compile leaves behind falls on the next, whichever that is.
        for mode in random.sample(("bare", "hook"), 2):
            value += 1
            with contextlib.nullcontext() if mode == "bare" else triton_doctor.record():
                started = time.perf_counter()
                kernels.launch_value(value)
                seconds[mode].append(time.perf_counter() - started)
    # The lower quartile, for a busy machine makes some compiles twice as long; on one, repeat before believing it.
    bare, hook = (statistics.quantiles(seconds[mode], n=4)[0] for mode in ("bare", "hook"))
    print(f"compile: bare {bare * 1e3:.1f} ms, hook {hook * 1e3:.1f} ms")
    print(f"  hook: {hook / bare:.4f} (ratio of lower quartiles of {COMPILES})")


def compare_processes(target: str) -> None:
    """Print each way's ratio to the bare process of its round: the median of `PROCESSES` rounds."""
    ratios = {way: [] for way in WAYS if way != "bare"}
    order = list(WAYS)
    for _ in range(PROCESSES):
        order = order[1:] + order[:1]
        seconds = {way: time_in_process(target, way) for way in order}
        for way, found in ratios.items():
            found.append(seconds[way] / seconds["bare"])
    for way, found in ratios.items():
        low, middle, high = statistics.quantiles(found, n=4)
        print(f"process {way}: {middle:.4f} (quartiles {low:.4f}, {high:.4f} of {PROCESSES} ratios)")


def time_in_process(target: str, way: str) -> float:
    """Seconds of a cached launch in a process of its own."""
    program = [__file__, target, "--way", way]
    doctor = ["-m", "triton_doctor", "run"] if way == "run" else []
    done = subprocess.run([sys.executable, *doctor, *program], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def time_launches(kernels: "Kernels", way: str) -> float:
    """Seconds of a cached launch: the median of `TIMINGS` loops."""
    import triton_doctor

    if way == "watch":
        triton_doctor.watch(max_compiles=1000)(kernels.source.add)
    with triton_doctor.record() if way == "record" else contextlib.nullcontext():
        kernels.launch()
        seconds = []
        for _ in range(TIMINGS):
            kernels.synchronize()
            started = time.perf_counter()
            for _ in range(LAUNCHES):
                kernels.launch()
            seconds.append((time.perf_counter() - started) / LAUNCHES)
    return statistics.median(seconds)


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
    import sys

    import torch
    import triton

    gpu = torch.cuda.get_device_name() if target == "gpu" else f"{target}, compiled, not run"
    print(f"triton {triton.__version__}, torch {torch.__version__}, python {sys.version.split()[0]}, {gpu}")


if __name__ == "__main__":
    main()

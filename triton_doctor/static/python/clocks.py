"""The table of clocks and benchmarks: the calls by which a Python program measures time.

Read by TRD401 and TRD402 (`variability/queries/timed_regions.py`), by TRD403 (`environment/read_python.py`), by the
roles of files (`project/database/roles.py`), and to recognize scripts that only try kernels
(`project/calls/trials.py`).
"""

from __future__ import annotations

import re

# Clocks that keep running while the host waits for the GPU.
WALL_CLOCKS = frozenset(
    {
        *("time.time", "time.time_ns", "time.perf_counter", "time.perf_counter_ns"),
        *("time.monotonic", "time.monotonic_ns", "timeit.default_timer"),
    }
)
# Clocks that count only the host's CPU time, which excludes the time of a kernel.
CPU_CLOCKS = frozenset({"time.process_time", "time.process_time_ns", "time.thread_time", "time.thread_time_ns"})
BENCHMARKS = frozenset(
    {
        *("timeit.timeit", "timeit.repeat", "timeit.Timer", "torch.utils.benchmark.Timer"),
        *("triton.testing.do_bench", "triton.testing.do_bench_cudagraph"),
        *("triton.testing.perf_report", "triton.testing.Benchmark"),
    }
)
# With `enable_timing=True`.
GPU_EVENTS = frozenset({"torch.cuda.Event", "torch.xpu.Event"})

# Modules that contain a wall clock, and the names of the clocks in them.
CLOCK_MODULES = frozenset(clock.partition(".")[0] for clock in WALL_CLOCKS)
CLOCK_NAMES = frozenset(clock.rpartition(".")[2] for clock in WALL_CLOCKS)

_STEMS = sorted({name.removesuffix("_ns").encode() for name in CLOCK_NAMES})
# A call by the clock's own name, or an import under another. One pattern for each stem, because `re` is fastest with a
# literal prefix.
_NAMED = tuple(re.compile(rb"%b(?:_ns)?(?:\(\)|[ \t]+as\b)" % stem) for stem in _STEMS)
_RENAMED = re.compile(rb"(?:\bimport|[,(])\s*(?:%b)(?:_ns)?[ \t]+as\b" % b"|".join(_STEMS))


def may_measure_time(data: bytes) -> bool:
    """Return whether a file that holds `data` may read a wall clock twice, by its own name or by another."""
    named = [found for clock in _NAMED for found in clock.findall(data)]
    renamed = [found for found in named if not found.endswith(b")")]
    # `_RENAMED` is slow, as it tries every comma and bracket: run it only if something is renamed at all.
    return len(named) - len(renamed) > 1 or (bool(renamed) and _RENAMED.search(data) is not None)

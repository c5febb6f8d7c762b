"""What is known of clocks and benchmarks: the calls by which a Python program measures time.

Whatever asks whether code measures time reads it here: TRD401 and TRD402 (`variability/timed_regions.py`), TRD403
(`environment/read_python.py`), the role of a file (`project/database/roles.py`), and what a script is for
(`project/calls/trials.py`).
"""

from __future__ import annotations

import re

# Clocks that go on while the host waits for the GPU.
WALL_CLOCKS = frozenset(
    {
        *("time.time", "time.time_ns", "time.perf_counter", "time.perf_counter_ns"),
        *("time.monotonic", "time.monotonic_ns", "timeit.default_timer"),
    }
)
# Clocks of the host's own work: a kernel's time is no part of it.
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

# Modules that have a wall clock, and what the clocks are called in them.
CLOCK_MODULES = frozenset(clock.partition(".")[0] for clock in WALL_CLOCKS)
CLOCK_NAMES = frozenset(clock.rpartition(".")[2] for clock in WALL_CLOCKS)

_STEMS = sorted({name.removesuffix("_ns").encode() for name in CLOCK_NAMES})
# A reading by the clock's own name, or another name for it: a pattern a stem, since `re` searches for a literal
# beginning fastest.
_NAMED = tuple(re.compile(rb"%b(?:_ns)?(?:\(\)|[ \t]+as\b)" % stem) for stem in _STEMS)
_RENAMED = re.compile(rb"(?:\bimport|[,(])\s*(?:%b)(?:_ns)?[ \t]+as\b" % b"|".join(_STEMS))


def may_measure_time(data: bytes) -> bool:
    """Whether a file that holds `data` may read a wall clock twice, by its own name or by another."""
    named = [found for clock in _NAMED for found in clock.findall(data)]
    renamed = [found for found in named if not found.endswith(b")")]
    # Names stand behind every comma and bracket of a text: only one that gets another name is worth that search.
    return len(named) - len(renamed) > 1 or (bool(renamed) and _RENAMED.search(data) is not None)

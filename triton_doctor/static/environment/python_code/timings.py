"""The places of a Python file that measure time."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.names import Bindings
from triton_doctor.static.environment.setting import Timing

if TYPE_CHECKING:
    from triton_doctor.static.sources.source_text import SourceText

_CLOCKS = frozenset(
    {
        "time.time",
        "time.time_ns",
        "time.perf_counter",
        "time.perf_counter_ns",
        "time.monotonic",
        "time.process_time",
        "timeit.timeit",
        "timeit.repeat",
        "timeit.Timer",
        "timeit.default_timer",
        "torch.utils.benchmark.Timer",
        "triton.testing.do_bench",
        "triton.testing.do_bench_cudagraph",
        "triton.testing.perf_report",
        "triton.testing.Benchmark",
    }
)
_EVENTS = frozenset({"torch.cuda.Event", "torch.xpu.Event"})


def timings(tree: ast.Module, source: SourceText) -> tuple[Timing, ...]:
    """Every call that reads a clock or runs a benchmark, in order of lines."""
    names = Bindings(tree)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    found = [
        Timing(span=source.span(call), text=name) for call in calls if (name := _measures(call, names)) is not None
    ]
    return tuple(sorted(found, key=lambda timing: timing.span))


def _measures(call: ast.Call, names: Bindings) -> str | None:
    full = names.full_name(call.func) or ""
    if full in _CLOCKS:
        return full
    timed = any(
        keyword.arg == "enable_timing" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in call.keywords
    )
    return f"{full}(enable_timing=True)" if full in _EVENTS and timed else None

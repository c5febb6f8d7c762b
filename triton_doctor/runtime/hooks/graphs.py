"""What torch says of graphs: each compile of Dynamo's with its guard, Inductor's benchmarks, CUDA graphs captured.

torch keeps these whether anybody reads them or not (torch 2.13 _dynamo/utils.py:187, 2047); nothing is hooked.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.event import WarningEvent
from triton_doctor.runtime.program_event import ChoicesEvent, GraphEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Names under which torch times `do_autotuning` of an operation (torch 2.13 _inductor/select_algorithm.py:4198, 4289).
BENCHMARKED, PRECOMPILED = "_template_autotuning", "_template_precompiling"

REPLAYS = "launches in replays of CUDA graphs: a replay launches its kernels past triton"


class GraphReader:
    """Reads what happened since it was made, and since it last read."""

    def __init__(self) -> None:
        self._since_us = time.time_ns() // 1000
        self._read: set[tuple[str, int]] = set()
        self._timed = {name: len(times) for name, times in _timings().items()}
        self._captures_reported = False

    def read(self) -> Iterator[GraphEvent | ChoicesEvent | WarningEvent]:
        """Yield the events since the last call; none if torch is not imported. Never raises."""
        try:
            if not self._captures_reported and captured_graphs():
                self._captures_reported = True
                yield WarningEvent(kind="replays", message=REPLAYS, at_ns=time.time_ns())
            yield from list(self._graphs())
            yield from list(self._choices())
        except Exception:  # a torch that keeps something else there: it says nothing about kernels
            return

    def _graphs(self) -> Iterator[GraphEvent]:
        dynamo = sys.modules.get("torch._dynamo.utils")
        for compilation_metric in dynamo.get_compilation_metrics() if dynamo is not None else ():
            started_us = compilation_metric.start_time_us or int((compilation_metric.start_time or 0) * 1_000_000)
            place = (str(compilation_metric.compile_id), started_us)
            if place in self._read or started_us < self._since_us or not compilation_metric.co_filename:
                continue
            self._read.add(place)
            duration_us = int(
                compilation_metric.duration_us or (compilation_metric.entire_frame_compile_time_s or 0) * 1_000_000
            )
            yield GraphEvent(
                compile_id=str(compilation_metric.compile_id),
                function=str(compilation_metric.co_name),
                path=str(compilation_metric.co_filename),
                line=int(compilation_metric.co_firstlineno or 0),
                duration_us=duration_us,
                at_ns=(started_us + duration_us) * 1000,
                reason=_first_line(getattr(compilation_metric, "recompile_reason", None)),
                failure=_first_line(compilation_metric.fail_reason),
                # Of the folder on this machine (torch 2.13 _inductor/codecache.py:1909).
                cached=int(getattr(compilation_metric, "inductor_fx_local_cache_hit_count", 0) or 0),
                uncached=int(getattr(compilation_metric, "inductor_fx_local_cache_miss_count", 0) or 0),
            )

    def _choices(self) -> Iterator[ChoicesEvent]:
        timings = _timings()
        names = {name.removesuffix(BENCHMARKED) for name in timings if name.endswith(BENCHMARKED)}
        for name in sorted(names):
            new = {}
            for kind in (BENCHMARKED, PRECOMPILED):
                times = timings.get(name + kind, [])
                new[kind] = times[self._timed.get(name + kind, 0) :]
                self._timed[name + kind] = len(times)
            if new[BENCHMARKED]:
                yield ChoicesEvent(
                    name=name,
                    count=len(new[BENCHMARKED]),
                    precompile_us=int(sum(new[PRECOMPILED]) * 1_000_000),
                    benchmark_us=int(sum(new[BENCHMARKED]) * 1_000_000),
                    at_ns=time.time_ns(),
                )


def captured_graphs() -> bool:
    """Return whether this process has begun to capture a CUDA graph by `torch.cuda.graph`."""
    # The first capture makes the stream, and the class keeps it (torch 2.13 cuda/graphs.py, graph.__init__).
    graph = getattr(sys.modules.get("torch.cuda.graphs"), "graph", None)
    return getattr(graph, "default_capture_stream", None) is not None


def _timings() -> Mapping[str, list[float]]:
    timings: Any = getattr(sys.modules.get("torch._dynamo.utils"), "compilation_time_metrics", {})
    return timings if isinstance(timings, dict) else {}


def _first_line(text: object) -> str:
    lines = str(text or "").strip().splitlines()
    return lines[0] if lines else ""

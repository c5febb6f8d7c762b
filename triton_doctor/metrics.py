"""Compiles, loads and rounds of tuning as Prometheus metrics, in the registry of the program.

`triton_doctor.metrics.start()` counts from now on; so does `TRITON_DOCTOR=metrics` in the environment, without a change
of code. The only label whose values the program chooses is the name of a kernel, of which at most `kernels` are told
apart. Where PROMETHEUS_MULTIPROC_DIR is set the processes of a server are added up, as prometheus_client does it.
A launch that finds its kernel in memory does not come here.

| metric | labels | |
|---|---|---|
| `triton_jit_misses_total` | kernel, tier (compiled, disk), phase (warmup, serving) | launches that found no kernel in memory, and compiled it or loaded it from disk |
| `triton_jit_miss_seconds_total` | kernel, tier | what they waited, without what only the first of a process pays |
| `triton_autotune_rounds_total` | kernel | rounds of tuning |
| `triton_autotune_seconds_total` | kernel | what they took, the compiles in them included |
| `triton_jit_variants` | kernel | variants in memory, of the process that has most |
"""  # noqa: E501 - a table

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent
from triton_doctor.runtime.guards.warmth import is_warm

if TYPE_CHECKING:
    from triton_doctor.runtime.event import Event

# Beyond so many names of kernels all others share one: generated kernels have any number of names.
KERNELS, OTHERS = 200, "(others)"


class Metrics:
    """The metrics of this process, in `registry` of prometheus_client."""

    def __init__(self, registry: Any = None, *, kernels: int = KERNELS) -> None:
        """Register the metrics in `registry`, by default prometheus_client's own.

        Raises DoctorError if prometheus_client is not installed.
        """
        try:
            from prometheus_client import REGISTRY, Gauge
            from prometheus_client import Counter as Total
        except ImportError as error:
            hint = "pip install prometheus-client"
            raise DoctorError("metrics need prometheus_client, which is not installed", hint=hint) from error
        registry = REGISTRY if registry is None else registry
        self._compiles = Total(
            "triton_jit_misses",
            "Launches that found no kernel in memory.",
            ["kernel", "tier", "phase"],
            registry=registry,
        )
        self._compile_seconds = Total(
            "triton_jit_miss_seconds", "Seconds that these launches waited.", ["kernel", "tier"], registry=registry
        )
        self._rounds = Total("triton_autotune_rounds", "Rounds of tuning.", ["kernel"], registry=registry)
        self._round_seconds = Total("triton_autotune_seconds", "Seconds that they took.", ["kernel"], registry=registry)
        self._variants = Gauge(
            "triton_jit_variants",
            "Variants in memory, of the process that has most.",
            ["kernel"],
            multiprocess_mode="livemax",
            registry=registry,
        )
        self._most, self._names = kernels, set[str]()
        self._in_memory: Counter[str] = Counter()

    def receive(self, event: Event) -> None:
        """Count `event`, which happens now; a sink."""
        self.count(event, warm=is_warm())

    def count(self, event: Event, *, warm: bool) -> None:
        """Count `event`; `warm` is whether the warm-up was over when it happened."""
        match event:
            case CompileEvent():
                kernel, tier = self._label(event.kernel.name), "compiled" if event.tier == COMPILED else "disk"
                self._compiles.labels(kernel, tier, "serving" if warm else "warmup").inc()
                self._compile_seconds.labels(kernel, tier).inc(event.duration_us / 1e6)
                self._in_memory[kernel] += 1
                self._variants.labels(kernel).set(self._in_memory[kernel])
            case AutotuneEvent(cached=False):
                kernel = self._label(event.kernel.name)
                self._rounds.labels(kernel).inc()
                self._round_seconds.labels(kernel).inc((event.duration_us or 0) / 1e6)

    def stop(self) -> None:
        """Stop counting; the counts so far remain."""
        from triton_doctor.runtime import hooks

        hooks.detach(self.receive)

    def _label(self, name: str) -> str:
        if name in self._names or len(self._names) < self._most:
            self._names.add(name)
            return name
        return OTHERS


def start(registry: Any = None, *, kernels: int = KERNELS) -> Metrics:
    """Start counting; needs triton. Raises DoctorError if prometheus_client is not installed.

    At most `kernels` kernel names are told apart; `registry` is by default prometheus_client's own.
    """
    from triton_doctor.runtime import hooks

    hooks.require_triton()
    metrics = Metrics(registry, kernels=kernels)
    hooks.attach(metrics.receive, count_launches=False)
    return metrics

"""What happened to a program beside its kernels: its start and end, its variables, and what torch.compile did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkEvent:
    """From `at_ns` on something holds: `warmed up`, that no more compiles are expected."""

    name: str
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEvent:
    """A whole program, as `run` saw it from outside; `command` of this recording's header is what it started.

    `status` is the exit status, negative for the signal that ended it; `pid` is its first process. `gpus` are (name,
    peak memory in use and all memory in MiB, mean utilization in percent) of each GPU, by all processes; empty where
    NVML is not there.
    """

    wall_us: int
    status: int
    at_ns: int
    pid: int | None = None
    gpus: tuple[tuple[str, int, int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableEvent:
    """The program, or a library in it, set the environment variable `name` to `value` after it began.

    `setter` is who did, where that is known.
    """

    name: str
    value: str
    setter: str
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEvent:
    """torch.compile compiled a function, for `duration_us` in all; `compile_id` is Dynamo's: frame/times it compiled.

    `reason` is the guard that made it compile again, `failure` what made it fail. `cached` graphs of it were in
    Inductor's cache on disk, `uncached` were not.
    """

    compile_id: str
    function: str
    path: str
    line: int
    duration_us: int
    at_ns: int
    reason: str = ""
    failure: str = ""
    cached: int = 0
    uncached: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoicesEvent:
    """Inductor benchmarked the ways to compute an operation, `name`, `count` times since the last of these.

    `benchmark_us` is how long in all, `precompile_us` what it waited for them to compile before.
    """

    name: str
    count: int
    precompile_us: int
    benchmark_us: int
    at_ns: int

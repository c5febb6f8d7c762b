"""What happened to a program beside its kernels: start, end, steps, requests, variables, and what torch.compile did."""

from __future__ import annotations

from dataclasses import dataclass

WARMED_UP = "warmed up"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkEvent:
    """From `at_ns` on something holds: WARMED_UP, that no more compiles are expected."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent:
    """A step or a request ran from `started_at_ns` to `at_ns`, both in Unix time. `kind` is `step` or `request`.

    A step has a `number`, from 1 where the program gives none; a request has a `name`. `compiles_ns` are the `at_ns` of
    the compiles, loads and rounds of tuning in it: of all threads in a step, of its own context in a request. After
    10,000 lines one stands for `count` in which nothing compiled: then number, name and start are those of the first.
    """

    kind: str
    started_at_ns: int
    at_ns: int
    thread: int
    rank: int | None
    number: int | None = None
    name: str = ""
    compiles_ns: tuple[int, ...] = ()
    count: int = 1


EventBesideKernels = MarkEvent | ProgramEvent | VariableEvent | GraphEvent | ChoicesEvent | StepEvent

"""What happened to a kernel while a program ran: compiles, rounds of tuning, launches, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass

from triton_doctor.runtime.program_event import EventBesideKernels
from triton_doctor.runtime.sweep_event import SweepEvent

Scalar = None | bool | int | float | str
"""A value that a recording keeps as it is; anything else is kept as its text."""

SCHEMA = 1
COMPILED = "compiled"
LOADED = "loaded from disk"
KEPT, NOT_KEPT, HOOKED = "kept", "not kept", "pre_hook"
"""What becomes of the timings of a round of tuning."""
# A compile of this length is one to explain.
LONG_US = 10_000_000
HIDING = frozenset({"unseen", "fault", "torn", "damaged"})
"""Kinds of warnings after which compiles may be missing."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class KernelName:
    """Which kernel: `name` as `kernel_names` spells it, `line` that of its `def`; 0 where the source is unknown."""

    name: str
    module: str
    path: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LaunchSite:
    """Where the program launched: the innermost frame that is neither triton's, nor torch's, nor ours."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileKey:
    """What Triton specializes on, in one form for all its versions. Pairs are in the order of the parameters.

    `signature` is (parameter, type): `*fp32`, `i32`, `none`, `constexpr`. `attributes` is (parameter, classes): `=1`
    for an integer that is the constant 1, `%16` for one divisible by 16 or a pointer so aligned. `options` are parsed,
    sorted by name; `spelled` are those that the launch wrote, as text in its order.
    """

    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, Scalar], ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    options: tuple[tuple[str, Scalar], ...] = ()
    spelled: tuple[str, ...] = ()
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileEvent:
    """A launch that found no kernel in memory. `tier` is COMPILED or LOADED.

    `stages_us` are in order; `process_us` is what only the first compile of a process pays (hashing triton, asking
    ptxas its version), and is not in `stages_us`. `values` are this launch's plain arguments where they are scalars.
    `source` identifies the source and what it captures; `made` numbers the kernel objects of one name from 1.
    `direct` is a compile that no launch of a kernel asked for, such as Inductor's, which `maker` then names; `tuning`
    one that a round of tuning tried. `capturing` is whether a CUDA graph was being captured. `at_ns` is Unix time.
    `dry` is a variant of a dry run: nothing was compiled, and there are no times. `guessed` is a variant that a dry run
    made after it had guessed a value. `exact` are those constants that the key keeps as text and that are no text, in
    the form of `constants.encode_constant`; None in a recording made before there was this field.
    `entry` is the hash that names the variant's entry in the cache on disk, empty where there is none. `sizes` are the
    bytes of what each stage made, of a compile that took LONG_US or more. Of a kernel that Helion generated, `kernel`
    is the function that it was generated from, and `generated` the kernel; `shapes` are those of the arguments that it
    is for alone, empty where it is for any.
    """

    kernel: KernelName
    key: CompileKey
    tier: str
    stages_us: tuple[tuple[str, int], ...]
    launch_site: LaunchSite | None
    device: int | None
    thread: int
    rank: int | None
    at_ns: int
    process_us: int = 0
    values: tuple[tuple[str, Scalar], ...] = ()
    source: str = ""
    made: int = 1
    warmup: bool = False
    direct: bool = False
    tuning: bool = False
    capturing: bool = False
    maker: str = ""
    dry: bool = False
    guessed: bool = False
    exact: tuple[tuple[str, str], ...] | None = None
    entry: str = ""
    sizes: tuple[tuple[str, int], ...] = ()
    generated: KernelName | None = None
    shapes: str = ""

    @property
    def duration_us(self) -> int:
        """Return how long the launch waited, in microseconds, without the one-time cost per process."""
        return sum(us for _, us in self.stages_us)

    def __repr__(self) -> str:
        """Return the kernel, its constexprs and the compile time on one line."""
        declared = {name for name, kind in self.key.signature if kind == "constexpr"}
        constants = "".join(f" {name}={value}" for name, value in self.key.constants if name in declared)
        took = "dry" if self.dry else f"{self.tier} in {self.duration_us / 1000:.1f} ms"
        return f"<CompileEvent {self.kernel.name}{constants}: {took}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvent:
    """A variant that a kernel object had in memory before its first compile here. The fields are of a CompileEvent."""

    kernel: KernelName
    key: CompileKey
    device: int | None
    rank: int | None
    at_ns: int
    source: str = ""
    made: int = 1
    exact: tuple[tuple[str, str], ...] | None = None
    generated: KernelName | None = None

    @classmethod
    def of(cls, event: CompileEvent) -> MemoryEvent:
        """Create the event of a variant that was in memory, from `event` without time, tier and launch site."""
        return cls(**{name: getattr(event, name) for name in cls.__dataclass_fields__})

    def as_compile(self) -> CompileEvent:
        """Return a CompileEvent for the variant, without times and launch site."""
        known = {name: getattr(self, name) for name in MemoryEvent.__dataclass_fields__}
        return CompileEvent(**known, tier=COMPILED, stages_us=(), launch_site=None, thread=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AutotuneEvent:
    """A round of tuning. `key` names each value where the names are known; `best` and `timings` are configs as text.

    `duration_us` is None when the timings came from the cache on disk (`cached`), and in a dry run, whose timings are
    all 0. `trials` are the launches that the round made to try its configs; None where launches were not counted.
    `kept` is KEPT where the next process finds the timings on disk, NOT_KEPT, or HOOKED where they are not for a
    `pre_hook` of a config; empty where that is not known.
    """

    kernel: KernelName
    key: tuple[tuple[str, Scalar], ...]
    best: str
    timings_ms: tuple[tuple[str, float], ...]
    duration_us: int | None
    cached: bool
    launch_site: LaunchSite | None
    thread: int
    rank: int | None
    at_ns: int
    trials: int | None = None
    capturing: bool = False
    kept: str = ""

    @property
    def is_lost(self) -> bool:
        """Return whether the next process is known to repeat this autotuning."""
        return self.kept in (NOT_KEPT, HOOKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleEvent:
    """The first launch of a compiled kernel on a device loaded its module, after Triton had its launcher built.

    `launcher_us` is what building launchers in C took, up to Triton 3.6 and where none was on disk.
    """

    kernel: KernelName
    launcher_us: int
    module_us: int
    thread: int
    rank: int | None
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnloadEvent:
    """Triton unloaded the module of a kernel that nothing used any more, while its thread captured a CUDA graph."""

    kernel: KernelName
    thread: int
    rank: int | None
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureEvent:
    """A compile that failed after `duration_us`, at `stage`: `ir`, one of the backend's, `cache`, `module`, `launch`.

    `error` is the type of the exception and what it says; `process_us` is as of a CompileEvent. `refused` is a compile
    that succeeded, whose event came before, and whose launch a guard made fail. Neither leaves a kernel in memory.
    """

    kernel: KernelName
    stage: str
    error: str
    duration_us: int
    thread: int
    rank: int | None
    at_ns: int
    launch_site: LaunchSite | None = None
    process_us: int = 0
    tuning: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchesEvent:
    """Launches of each kernel from the beginning of the recording to `at_ns`; a later one replaces an earlier."""

    launches: tuple[tuple[KernelName, int], ...]
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningEvent:
    """Something that the reader of the recording should know.

    `kind`: interpreted, unseen, untried, replays, eager, fault, torn, damaged, or files: what a dry run did to files
    and connected to. After unseen, fault, torn and damaged, compiles may be missing.
    """

    kind: str
    message: str
    at_ns: int
    kernel: KernelName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpretedEvent:
    """How often `kernel` was launched in interpreter mode, and how long that took in all."""

    kernel: KernelName
    count: int
    took_us: int
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEvent:
    """The recording was closed in order. `wall_us` is the time from its beginning."""

    wall_us: int
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessEvent:
    """The program read data that a dry run does not have: `question`, at `site`. It was guessed or `stopped` it.

    The same question at the same site is told once a case, a test for example.
    """

    question: str
    site: LaunchSite | None
    stopped: bool
    thread: int
    at_ns: int


Event = (
    CompileEvent
    | MemoryEvent
    | AutotuneEvent
    | ModuleEvent
    | UnloadEvent
    | FailureEvent
    | LaunchesEvent
    | InterpretedEvent
    | WarningEvent
    | EndEvent
    | GuessEvent
    | SweepEvent
    | EventBesideKernels
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Where and when a recording was made. `compile_only`: compiled, not run. `variables` are those Triton reads.

    `dry` is a dry run, which told the program what is in `pretended`: the name of its GPU, for example.
    """

    tool_version: str
    versions: tuple[tuple[str, str], ...]
    target: str | None
    compile_only: bool
    command: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    rank: int | None
    world_size: int | None
    pid: int
    started_at_ns: int
    schema: int = SCHEMA
    dry: bool = False
    pretended: tuple[tuple[str, str], ...] = ()

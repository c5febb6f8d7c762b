"""What the parent of a sweep and its children say to each other, as JSON: entries, plans, outcomes.

The parent reads the project's source (`entries`), and gives each child an `EntryPlan`: one entry, with what the source
says of the parameters of functions. The child calls the entry dry (`child/`), and answers with an `EntryOutcome`.
Nothing here imports torch, triton or `static`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

EntryKind = Literal["function", "autograd", "module", "optimizer", "method"]
Status = Literal["complete", "partial", "no launch", "raised", "import failed", "died", "over a limit", "not tried"]
# Why an axis is taken for data or for the model. Only `PROVENANCE` may clear a finding.
Provenance = Literal["parameter", "constructor", "config", "input", "caller", "name", "position", "test", "unknown"]
Role = Literal["data", "model", "unknown"]


class ParameterNotes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the source says of one parameter.

    `axes` are names of axes by index, negative ones from the end; `rank` is 0 where it is not known, and `least_rank`
    what the source needs at least. `kind` is tensor, int, float, bool, str, dtype, callable, config, list, object, or
    empty. `choices` are literals that it is compared with, as text; `attributes` are names read off it that no tensor
    has, `classes` those of the project that have them all, as `module:qualname`.
    """

    kind: str = ""
    rank: int = 0
    least_rank: int = 0
    axes: dict[int, str] = {}
    dtype: str = ""
    choices: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


class FunctionNotes(msgspec.Struct, frozen=True, kw_only=True):
    """The notes of a function's parameters. `line` is that of `def`, in the file `path`, relative to the project."""

    path: str
    line: int
    parameters: dict[str, ParameterNotes]


class SweepEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A host function, autograd Function, module or method that may reach a launch.

    `name` is qualified (`Rope.forward`); `module` is importable from one of the plan's import roots; `path` is relative
    to the project. `kernels` are those that the names lead to. `callers` are the entries (module:name) that call it.
    """

    path: str
    line: int
    module: str
    name: str
    kind: EntryKind
    kernels: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    is_private: bool = False

    @property
    def key(self) -> str:
        """Return `module:name`, one word an entry."""
        return f"{self.module}:{self.name}"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a child may use: seconds of CPU and of the clock, bytes of memory and of one file, processes."""

    search_s: float = 4.0
    sweep_s: float = 5.0
    calls: int = 150
    wall_s: float = 150.0
    memory: int = 24 << 30
    file_size: int = 256 << 20
    processes: int = 64


class EntryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One entry for a child to drive. `root` is the copy of the project; `import_roots` are relative to it.

    `leading_names` are names of functions and methods that lead to a launch, for choosing branches. `examples` are
    calls of this entry that were recorded (`seeds`), best first, as JSON: a list of `child.state.State`; or empty. What
    is recorded of files below `root` is told of `project`, unless that is empty. `wants_tests` asks for tests around
    the drivers.
    """

    entry: SweepEntry
    root: str
    import_roots: tuple[str, ...]
    leading_names: tuple[str, ...]
    notes: tuple[FunctionNotes, ...]
    limits: Limits = Limits()
    target: str = ""
    examples: str = ""
    project: str = ""
    wants_tests: bool = False


class SeedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the project, relative to its copy `root`, that a child runs for so many seconds of CPU.

    Calls of `entries` are recorded. `own_modules` are the names of the project's modules and packages.
    """

    path: str
    is_test: bool
    root: str
    own_modules: tuple[str, ...]
    entries: tuple[SweepEntry, ...]
    seconds: float
    target: str = ""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a size is seen: axis `axis` of the tensor `argument`; an int, or an attribute of a config, if that is None.

    `argument` is a parameter of the entry; `init.NAME` one of its constructor; `config.heads` an attribute.
    """

    argument: str
    axis: int | None = None


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """A size that was varied alone: all places that had to be equal to it for the call to run.

    `tied_to` are further places to which a forced equality tied it, with what they are: `parameter` is an axis of an
    nn.Parameter or a buffer of the module, `constructor` an int of a constructor, `config` an attribute of a config,
    `test` a size of which the project's tests and examples give several,
    `input` a size that the code reads from the shape of an input of its own.
    """

    name: str
    size: int
    places: tuple[Place, ...]
    tied_to: tuple[tuple[Provenance, str], ...] = ()
    ran: int = 0


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a kernel's key that moved while axes were varied. `part` is as the sweep's probe calls it.

    `follows` are names of axes; `formula` is empty where none is certain; `growth` is as of `SweepEvent`. `values` are
    all that were seen. `along` are those seen as an axis was varied alone, at each of its `sizes`: a list where the
    kernel was launched in several ways.
    """

    kernel: str
    kernel_path: str
    kernel_line: int
    part: str
    name: str
    follows: tuple[str, ...]
    formula: str
    growth: str
    values: tuple[object, ...]
    sizes: dict[str, tuple[int, ...]]
    along: dict[str, tuple[object, ...]]


class InnerCall(msgspec.Struct, frozen=True, kw_only=True):
    """What an entry passes to another function of the project that reaches a launch: its argument follows these axes.

    `places` are those of the inner function, `follows` names of axes of the outer one.
    """

    entry: str
    place: Place
    follows: tuple[str, ...]


class MadeUpCall(msgspec.Struct, frozen=True, kw_only=True):
    """One way to call the entry that reaches launches: the arguments as Python text, the axes, and what moved.

    `driver` is a runnable function of the axes' names that makes the arguments and makes the call, `test` one of pytest
    that sweeps it.
    `unmoved` are (kernel, part, name) that were seen and never moved. `error` is what the call raised after launching.
    """

    arguments: dict[str, str]
    axes: tuple[Axis, ...]
    moves: tuple[Move, ...]
    unmoved: tuple[tuple[str, str, str], ...] = ()
    inner: tuple[InnerCall, ...] = ()
    driver: str = ""
    test: str = ""
    error: str = ""
    is_cut: bool = False


class EntryOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an entry.

    `kernels` are (module, name, path, line) of those launched, `recording` the JSON Lines of the events. `error` is the
    last one, `where` its place in the project, `help` what the user could do.

    `stand_ins` are packages that are missing.
    """

    entry: str
    status: Status
    kernels: tuple[tuple[str, str, str, int], ...] = ()
    calls: tuple[MadeUpCall, ...] = ()
    recording: tuple[str, ...] = ()
    error: str = ""
    where: str = ""
    help: str = ""
    stand_ins: tuple[str, ...] = ()
    cpu_s: float = 0.0

"""What reading yields: plain values that hold no syntax tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.expression import Lambda

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.expression import Expr
    from triton_doctor.static.model_environment import EnvironmentFile
    from triton_doctor.static.model_function import Binding, Function, Launch
    from triton_doctor.static.modules import Modules
    from triton_doctor.static.names import Names
    from triton_doctor.variables import Version


class Param(NamedTuple):
    """A parameter of a kernel."""

    name: str
    is_constexpr: bool
    annotation: str | None
    default: Expr | None
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Heuristic:
    """`@triton.heuristics({param: value})`: computed at each launch from its other arguments."""

    param: str
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Autotune:
    """`@triton.autotune`: the names of its key, and what its configs set; None where they are made elsewhere.

    `by` is the decorator's full name. `prunes` and `keeps` say that it names a pruning of configs, and keeps results.
    """

    key: tuple[str, ...]
    sets: frozenset[str] | None
    config_count: int | None
    span: Span
    configs: Expr | None = None
    by: str = ""
    prunes: bool = False
    keeps: bool = False


class Arange(NamedTuple):
    """`tl.arange(start, end)` of literals and parameters; `conditional` where it stands in a branch."""

    start: Expr
    end: Expr
    conditional: bool
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kernel:
    """A `@triton.jit` function.

    `needed` are the names that its body needs while compiling, with the reason: `block`, `unrolled`, `branch`, `other`;
    `blocks_only` those that it reads as the size of a block and nowhere else; `read` those that it reads at all;
    `walked` those over which it loops, `replaced` those that it overwrites, in some branch, with what it loaded.
    `passes` are its calls of other jit functions: (callee, position or keyword, name passed on). `key` and `path`
    identify it in the project. `do_not_specialize` and `do_not_align` are what `jit` is told not to specialize on, at
    all or on alignment: names, a number that is no position as it stands. `computed` are the names that the body does
    more with than test, compare and pass on; `outer` those that it reads and nothing in it binds.
    """

    name: str
    qualname: str
    path: str
    params: tuple[Param, ...]
    decorators: tuple[str, ...]
    heuristics: tuple[Heuristic, ...]
    autotune: Autotune | None
    do_not_specialize: tuple[str, ...]
    needed: Mapping[str, str]
    read: frozenset[str]
    walked: frozenset[str]
    replaced: frozenset[str]
    passes: tuple[tuple[str, int | str, str], ...]
    span: Span
    made_in: str | None
    do_not_align: tuple[str, ...] = ()
    jit_span: Span | None = None
    computed: frozenset[str] = frozenset()
    outer: frozenset[str] = frozenset()
    aranges: tuple[Arange, ...] = ()
    blocks_only: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from every other kernel of the project."""
        return (self.path, self.qualname, self.span.line)

    @property
    def heuristics_out_of_sight(self) -> bool:
        """Whether some heuristic is a function elsewhere, which may look at any argument of a launch."""
        return any(not isinstance(heuristic.value, Lambda) for heuristic in self.heuristics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """`import module as name` (`member` None) or `from module import member as name`; `level` counts the dots."""

    module: str
    member: str | None
    level: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Class:
    """A class of the module, its bases as written, and what its body binds."""

    name: str
    qualname: str
    path: str
    bases: tuple[Expr, ...]
    fields: Mapping[str, Binding]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """One Python file, as far as Triton is concerned. `functions` and `kernels_named` are by qualified name.

    Of kernels, definitions of one name share an entry; of functions, a later one is `name#2`. `unread` grows by the
    error of each function that turns out not to parse when its contents are asked for.
    """

    path: str
    kernels: tuple[Kernel, ...] = ()
    kernels_named: Mapping[str, tuple[Kernel, ...]] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    classes: Mapping[str, Class] = field(default_factory=dict)
    imports: Mapping[str, Import] = field(default_factory=dict)
    star_imports: tuple[Import, ...] = ()
    environment: EnvironmentFile | None = None
    unread: Sequence[Exception] = ()

    def launches(self) -> Iterator[tuple[Function, Launch]]:
        """Every subscripted call, with the function that makes it: launches, and what only looks like one."""
        for function in self.functions.values():
            if function.may_launch:
                for launch in function.launches:
                    yield function, launch


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedLaunch:
    """A launch, where it is made, and the kernels that it may start: several where a condition chooses one."""

    module: Module
    function: Function
    launch: Launch
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Project:
    """What the checks look at: the files of `scope`, and all that their values lead to.

    `modules` are those of the whole scan by path, each read when it is asked for. `launches` are those of the kernels
    in `scope`, wherever they stand; `environment` the files of `scope` that set variables; `set_anywhere` the variables
    that some file of the scan sets. `tests` tells which modules only test, `demonstrations` which measure or teach;
    with `recognizes_trials`, so does a script that only tries its own kernels. `declared` are the names of values that
    the user calls `fixed` or `per_call`. `triton_version` None is the newest; `pinned_triton` is the release line that
    the project's requirements pin.
    """

    scope: tuple[str, ...]
    modules: Modules
    names: Names
    launches: tuple[LinkedLaunch, ...] = ()
    environment: tuple[EnvironmentFile, ...] = ()
    set_anywhere: Container[str] = frozenset()
    tests: Container[str] = frozenset()
    demonstrations: Container[str] = frozenset()
    recognizes_trials: bool = False
    declared: Mapping[str, str] = field(default_factory=dict)
    triton_version: str | None = None
    pinned_triton: Version | None = None

    def subjects(self) -> Iterator[Module]:
        """The modules of `scope`, in its order."""
        for path in self.scope:
            module = self.modules.get(path)
            if module is not None:
                yield module

    def kernels(self) -> Iterator[Kernel]:
        """Every kernel of `scope`, by path and place."""
        for module in self.subjects():
            yield from module.kernels

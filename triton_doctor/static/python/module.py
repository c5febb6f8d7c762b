"""What reading yields: plain values that hold no syntax tree."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Lambda

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.python.function import Binding, Function, KernelDefinition, Launch
    from triton_doctor.static.python.ir import Expr

# Hardware whose vendor ships a Triton of its own: Huawei Ascend (CANN), Cambricon, Kunlunxin, Enflame, Moore Threads,
# Tsingmicro, Iluvatar, MetaX.
_HARDWARE = frozenset(
    "ascend npu cann cambricon mlu kunlunxin enflame gcu mthreads musa tsingmicro iluvatar metax".split()
)
_WORD = re.compile(r"[a-z]+")

# Triton's own decorators, which take parameters by the names and kinds that the kernel gives them.
_OWN_DECORATORS = frozenset({"jit", "autotune", "heuristics"})


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
    """`@triton.autotune`: the names of its key, and what its configs set; None where one is made out of sight.

    `by` is the decorator's full name. `prunes` says that configs may be pruned, and `pruned_by` is what the decorator
    names for that; `keeps` says that results are kept.
    """

    key: tuple[str, ...]
    sets: frozenset[str] | None
    span: Span
    configs: Expr | None = None
    by: str = ""
    prunes: bool = False
    pruned_by: Expr | None = None
    keeps: bool = False


class Arange(NamedTuple):
    """`tl.arange(start, end)` of literals and parameters; `conditional` where it stands in a branch."""

    start: Expr
    end: Expr
    conditional: bool
    span: Span


class BodyUses(NamedTuple):
    """Names that a kernel's body uses in some way, parameters but for `outer`, and its `span`, the header's included.

    `needed` are the names that it needs while compiling, with the reason: `block`, `unrolled`, `branch`, `other`;
    `blocks_only` those that it reads as the size of a block and nowhere else; `read` those that it reads at all;
    `walked` those over which it loops, `replaced` those that it overwrites, in some branch, with what it loaded;
    `bounds` those that are the bound of offsets: `offs < n`. `passes` are its calls of other jit functions: (callee,
    position or keyword, name passed on). `computed` are the names that it does more with than test, compare and pass
    on; `outer` those that it reads and nothing in it binds. `aranges` have nothing that the body computes.
    """

    needed: Mapping[str, str]
    blocks_only: frozenset[str]
    read: frozenset[str]
    walked: frozenset[str]
    replaced: frozenset[str]
    bounds: frozenset[str]
    passes: tuple[tuple[str, int | str, str], ...]
    computed: frozenset[str]
    outer: frozenset[str]
    aranges: tuple[Arange, ...]
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kernel:
    """A `@triton.jit` function.

    `key` and `path` identify it in the project; `line` is that of its `def`. `do_not_specialize` and `do_not_align` are
    what `jit` is told not to specialize on, at all or on alignment: names, a number that is no position as it stands.
    `launch_metadata` is the function that `jit` is told to describe launches with. `text` are its lines.
    """

    name: str
    qualname: str
    path: str
    params: tuple[Param, ...]
    decorators: tuple[str, ...]
    heuristics: tuple[Heuristic, ...]
    autotune: Autotune | None
    do_not_specialize: tuple[str, ...]
    line: int
    made_in: str | None
    do_not_align: tuple[str, ...] = ()
    jit_span: Span | None = None
    launch_metadata: Expr | None = None
    text: KernelDefinition = field(repr=False)

    @property
    def uses(self) -> BodyUses:
        """What its body does with its parameters."""
        return self.text.uses

    @property
    def span(self) -> Span:
        """Where its definition stands, without the decorators."""
        return self.text.uses.span

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from every other kernel of the project."""
        return (self.path, self.qualname, self.line)

    def may_set(self, param: str) -> bool:
        """Whether tuning or a heuristic may give the parameter its value."""
        configured = self.autotune.sets if self.autotune is not None else frozenset[str]()
        return configured is None or param in configured or any(one.param in (param, "*") for one in self.heuristics)

    @property
    def has_own_decorators(self) -> bool:
        """Whether none but Triton's own decorators stand at it."""
        return all(name.rpartition(".")[2] in _OWN_DECORATORS for name in self.decorators)

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
    """A class of the module, its bases as written, and what its body binds.

    `declared` are the names that its body annotates, in order: the fields of a dataclass or a named tuple.
    """

    name: str
    qualname: str
    path: str
    bases: tuple[Expr, ...]
    fields: Mapping[str, Binding]
    declared: tuple[str, ...] = ()


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
    unread: Sequence[Exception] = ()

    @property
    def top(self) -> Function:
        """What the module does when it is run or imported."""
        return self.functions["<module>"]

    def launches(self) -> Iterator[tuple[Function, Launch]]:
        """Every subscripted call, with the function that makes it: launches, and what only looks like one."""
        for function in self.functions.values():
            if function.may_launch:
                for launch in function.launches:
                    yield function, launch


@cached_in_scan()
def is_for_a_fork(module: Module) -> bool:
    """Whether the path of the module, or what it imports, names such hardware."""
    named = [module.path, *(imported.module for imported in module.imports.values())]
    return any(not _HARDWARE.isdisjoint(_WORD.findall(name.lower())) for name in named)

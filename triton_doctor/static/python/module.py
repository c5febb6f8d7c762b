"""The representation of a file: kernels, classes, imports and the module itself, without a syntax tree."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.kernel_names import function_name
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Lambda

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.python.function import Binding, Function, KernelDefinition, Launch
    from triton_doctor.static.python.ir import Expr

# Hardware whose vendor ships its own Triton: Huawei Ascend (CANN), Cambricon, Kunlunxin, Enflame, Moore Threads,
# Tsingmicro, Iluvatar, MetaX.
_HARDWARE = frozenset(
    "ascend npu cann cambricon mlu kunlunxin enflame gcu mthreads musa tsingmicro iluvatar metax".split()
)
_WORD = re.compile(r"[a-z]+")

# Triton's own decorators, which refer to parameters by the kernel's names and kinds.
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
    """`@triton.autotune`: the names of its key, and the parameters that its configs set; None if not all are known.

    `by` is the decorator's full name. `prunes` says that configs may be pruned, `pruned_by` is the decorator's argument
    for that, and `keeps` says that results are cached.
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
    """`tl.arange(start, end)` of literals and parameters; `conditional` if it stands in a branch."""

    start: Expr
    end: Expr
    conditional: bool
    span: Span


class BodyUses(NamedTuple):
    """The names that a kernel's body uses, by the way it uses them: parameters, except in `outer`.

    `needed` are needed at compile time, with the reason: `block`, `unrolled`, `branch`, `other`. `blocks_only` are read
    as the size of a block and nowhere else. `read` are read at all. `walked` are looped over. `replaced` are
    overwritten, in some branch, with a loaded value. `bounds` bound offsets: `offs < n`. `passes` are calls of other
    jit functions: (callee, position or keyword, name passed), those `passes_at_run_time` of what only the run decides.
    `outer` are read but not bound in the body. `conditional` are those read only where a constexpr parameter has a
    truth value; None is a branch never taken. `aranges` are the calls of `arange` with literals and parameters only.
    `span` includes the header.
    """

    needed: Mapping[str, str]
    blocks_only: frozenset[str]
    read: frozenset[str]
    walked: frozenset[str]
    replaced: frozenset[str]
    bounds: frozenset[str]
    passes: tuple[tuple[str, int | str, str], ...]
    passes_at_run_time: frozenset[tuple[str, int | str, str]]
    outer: frozenset[str]
    conditional: tuple[tuple[str, str | None, bool], ...]
    aranges: tuple[Arange, ...]
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kernel:
    """A `@triton.jit` function. `name` is that of reports: with its class or module if its own says nothing.

    `key` identifies it in the project; `line` is that of its `def`. `do_not_specialize` and `do_not_align` are the
    lists given to `jit`: names, or a number that is no valid position. `made_in` is the qualified name of the function
    that defines it. `text` is its source.
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
    text: KernelDefinition = field(repr=False)

    @property
    def function_name(self) -> str:
        """The name of its function."""
        return function_name(self.name)

    @property
    def uses(self) -> BodyUses:
        """How its body uses its parameters."""
        return self.text.uses

    @property
    def span(self) -> Span:
        """The span of its definition, without the decorators."""
        return self.text.uses.span

    @property
    def key(self) -> tuple[str, str, int]:
        """What identifies the kernel in the project: path, qualified name, line."""
        return (self.path, self.qualname, self.line)

    def may_set(self, param: str) -> bool:
        """Return whether tuning or a heuristic may set the parameter."""
        configured = self.autotune.sets if self.autotune is not None else frozenset[str]()
        return (
            configured is None
            or param in configured
            or any(heuristic.param in (param, "*") for heuristic in self.heuristics)
        )

    @property
    def has_own_decorators(self) -> bool:
        """Whether all of its decorators are Triton's own."""
        return all(name.rpartition(".")[2] in _OWN_DECORATORS for name in self.decorators)

    @property
    def heuristics_out_of_sight(self) -> bool:
        """Whether some heuristic is not spelled out, so that it may read any argument of a launch."""
        return any(not isinstance(heuristic.value, Lambda) for heuristic in self.heuristics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """`import module as name` (`member` None) or `from module import member as name`; `level` counts the dots."""

    module: str
    member: str | None
    level: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Class:
    """A class of the module, its bases as written, and the bindings of its body.

    `declared` are the annotated names of its body, in order: the fields of a dataclass or a named tuple.
    """

    name: str
    qualname: str
    path: str
    bases: tuple[Expr, ...]
    fields: Mapping[str, Binding]
    declared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """One Python file, as far as Triton is concerned. `functions` and `kernels_named` are keyed by qualified name.

    Kernels with the same name share an entry; a later function of the same name is `name#2`. `unread` grows by the
    error of each function that turns out not to parse on first access.
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
        """The module's top level, as a function."""
        return self.functions["<module>"]

    def launches(self) -> Iterator[tuple[Function, Launch]]:
        """Yield every possible launch with the function that makes it, including subscripted calls of other things."""
        for function in self.functions.values():
            if function.may_launch:
                for launch in function.launches:
                    yield function, launch


@cached_in_scan()
def is_for_a_fork(module: Module) -> bool:
    """Return whether the path or the imports of the module name hardware with a Triton of its own."""
    named = [module.path, *(imported.module for imported in module.imports.values())]
    return any(not _HARDWARE.isdisjoint(_WORD.findall(name.lower())) for name in named)

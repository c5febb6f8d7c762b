"""Kernels to their constexpr parameters: what each is given where, how often that changes, and what it is used for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from triton_doctor.static.arguments import given
from triton_doctor.static.expression import Const, Expr, Item, Lambda, Name, children
from triton_doctor.static.flow import leanings
from triton_doctor.static.flow.evaluate import leaning_by_name
from triton_doctor.static.flow.frame import Frame, end_of
from triton_doctor.static.flow.kinds import Kind, Scalar
from triton_doctor.static.flow.values import Table
from triton_doctor.static.launched import flow_of
from triton_doctor.static.model import Function, Kernel
from triton_doctor.static.reaching import reaching

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.finding import Span
    from triton_doctor.static.flow.values import Value
    from triton_doctor.static.model import LinkedLaunch, Param, Project

# Options of every launch: a parameter of such a name is there for the caller's sake.
LAUNCH_OPTIONS = frozenset(
    "num_warps num_stages num_ctas maxnreg enable_fp_fusion waves_per_eu matrix_instr_nonkdim kpack "
    "num_buffers_warp_spec num_consumer_groups reg_dec_producer reg_inc_consumer launch_cooperative_grid".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One way in which a constexpr gets its value: an argument of `launch`, or a heuristic evaluated there."""

    launch: LinkedLaunch
    path: str
    span: Span
    expr: Expr | None
    scalar: Scalar

    @property
    def kind(self) -> Kind:
        """How often this value changes."""
        return self.scalar.settled()


@dataclass(frozen=True, slots=True, kw_only=True)
class Constexpr:
    """A constexpr parameter, all that it is given, and its use: `compile_time`, `read` or `unread`."""

    kernel: Kernel
    param: Param
    use: str
    sources: tuple[Source, ...]

    @property
    def worst(self) -> Source | None:
        """The source that changes most often; of equals the first in the text. UNKNOWN never is."""
        known = [source for source in self.sources if source.kind is not Kind.UNKNOWN]
        if not known:
            return None
        return min(known, key=lambda source: (-source.kind, not source.scalar.from_data, source.path, source.span))

    @property
    def in_autotune_key(self) -> bool:
        """Whether each value is a round of tuning too."""
        return self.kernel.autotune is not None and self.param.name in self.kernel.autotune.key


@lru_cache(maxsize=1)
def constexprs(project: Project) -> tuple[Constexpr, ...]:
    """Every constexpr parameter of every kernel, by path and place."""
    return tuple(_Constexprs(project).all())


class _Constexprs:
    def __init__(self, project: Project) -> None:
        self._project = project
        self._flow = flow_of(project)
        self._launches: dict[tuple[str, str, int], list[LinkedLaunch]] = {}
        for launch in project.launches:
            for kernel in launch.kernels:
                self._launches.setdefault(kernel.key, []).append(launch)

    def all(self) -> Iterator[Constexpr]:
        for kernel in self._project.kernels():
            params = [param for param in kernel.params if param.is_constexpr]
            if not params:
                continue
            sources: dict[str, list[Source]] = {param.name: [] for param in params}
            for launch in self._launches.get(kernel.key, ()):
                # Hundreds of operands, or of assignments that build on each other: too deep to follow is unknown.
                with suppress(RecursionError):
                    self._add_sources(launch, kernel, sources)
            for param in params:
                yield Constexpr(
                    kernel=kernel,
                    param=param,
                    use=self._use(kernel, param.name),
                    sources=tuple(_leaning(source, kernel, param.name) for source in sources[param.name]),
                )

    def _add_sources(self, launch: LinkedLaunch, kernel: Kernel, sources: dict[str, list[Source]]) -> None:
        flow, frame = self._flow, self._flow.at(launch).frame
        wanted = frozenset(sources).union(*(_keys(heuristic.value) for heuristic in kernel.heuristics))
        arguments = given(launch, kernel, flow, wanted if not kernel.heuristics_out_of_sight else None)
        for name, one in arguments.items():
            if name in sources:
                scalar = flow.as_scalar(one.value, frame)
                sources[name].append(
                    Source(launch=launch, path=launch.module.path, span=one.span, expr=one.expr, scalar=scalar)
                )
        for heuristic in kernel.heuristics:
            if heuristic.param in sources and heuristic.param not in arguments:
                table = Table(items={name: one.value for name, one in arguments.items()}, open=True)
                value = self._heuristic(heuristic.value, kernel, table)
                if value is not None:
                    scalar = flow.as_scalar(value, frame)
                    expr = heuristic.value.body if isinstance(heuristic.value, Lambda) else heuristic.value
                    sources[heuristic.param].append(
                        Source(launch=launch, path=kernel.path, span=heuristic.span, expr=expr, scalar=scalar)
                    )

    def _heuristic(self, value: Expr, kernel: Kernel, table: Table) -> Value | None:
        """The value that a heuristic computes from the arguments of a launch; None if it is out of sight."""
        module = self._project.modules.get(kernel.path)
        top = module.functions.get("<module>") if module is not None else None
        if module is None or top is None:
            return None
        match value:
            case Lambda((args, *_), body):
                return self._flow.value(body, end_of(Frame(module, top)).binding({args: table}))
            case Name(name):
                function = self._project.names.defined(module, name)
                if isinstance(function, Function) and function.params:
                    home = self._project.names.home(function) or module
                    inner = Frame(home, function, {function.params[0].name: table}, depth=1)
                    found = [self._flow.value(one.value, end_of(inner)) for one in function.returns]
                    return found[0] if len(found) == 1 else None
        return None

    def _use(self, kernel: Kernel, name: str) -> str:
        if self._needed(kernel, name, depth=4):
            return "compile_time"
        if name in kernel.read:
            return "read"
        if self._serves(kernel, name):
            return "read"
        return "unread"

    def _needed(self, kernel: Kernel, name: str, depth: int) -> bool:
        """Whether the kernel, or a jit function that it passes the name on to, needs the value while compiling."""
        if name in kernel.needed:
            return True
        if depth == 0:
            return False
        module = self._project.modules.get(kernel.path)
        for callee, target, passed in kernel.passes if module is not None else ():
            if passed != name or module is None:
                continue
            found = self._project.names.defined(module, callee)
            if not isinstance(found, Kernel):
                continue
            if isinstance(target, int):
                target = found.params[target].name if target < len(found.params) else ""
            if self._needed(found, target, depth - 1):
                return True
        return False

    def _serves(self, kernel: Kernel, name: str) -> bool:
        """Whether a name that the body never reads serves the launch: an option, the grid, tuning, a heuristic."""
        tuned = kernel.autotune
        if name in LAUNCH_OPTIONS or (tuned is not None and (name in tuned.key or name in (tuned.sets or ()))):
            return True
        if any(name in _keys(heuristic.value) for heuristic in kernel.heuristics):
            return True
        for launch in self._launches.get(kernel.key, ()):
            grid = launch.launch.grid
            if isinstance(grid, Name):
                bound = reaching(launch.function, grid.id, launch.launch.order, launch.launch.arms).bindings
                if any(name in _keys(binding.value) for binding in bound):
                    return True
                inner = launch.module.functions.get(f"{launch.function.qualname}.<locals>.{grid.id}")
                if inner is not None and any(name in _keys(one.value) for one in inner.returns):
                    return True
            elif grid is not None and name in _keys(grid):
                return True
        return False


def _keys(expr: Expr) -> frozenset[str]:
    """The strings that `expr` indexes with: `meta["BLOCK"]`."""
    found: set[str] = set()
    pending = [expr]
    while pending:
        current = pending.pop()
        match current:
            case Item(_, Const(str(key))):
                found.add(key)
            case _:
                pass
        pending.extend(children(current))
    return frozenset(found)


def _leaning(source: Source, kernel: Kernel, name: str) -> Source:
    """What the kernel itself suggests: the parameter's name, and that it walks over it in blocks."""
    scalar = leaning_by_name(source.scalar, name)
    if name in kernel.walked and scalar.kind is Kind.UNKNOWN:
        scalar = replace(scalar, pro=scalar.pro | {leanings.WALKED})
    return replace(source, scalar=scalar)

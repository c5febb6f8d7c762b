"""Kernels to their parameters: the value at each launch, how often it changes, and what it is used for."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.nesting import with_own_stack
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.launches.launches import launches_of
from triton_doctor.static.python.function import Function
from triton_doctor.static.python.ir import Compare, Conditional, Expr, Lambda, Name
from triton_doctor.static.variability.hints.hints import COVERED, FIRST_AXIS
from triton_doctor.static.variability.models.origins import declared
from triton_doctor.static.variability.queries.idle_code import IN_TRIALS, explain_idle_launch, is_test
from triton_doctor.static.variability.queries.kernel_hints import KernelHints, interpreter_of, thorough_interpreter_of
from triton_doctor.static.variability.queries.parameter_uses import ParameterUses, bind_arguments, keys
from triton_doctor.static.variability.values.lattice import AbstractNumber, CallerValues, Variability
from triton_doctor.static.variability.values.values import CallFrame, DictValue, end_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.module import Kernel, Param
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.values import Value

# Of judged findings that rest on these alone 1 was true, 8 arguable, 3 false; of labelled parameters 5 vary, 15 do not.
_OF_POSITION = frozenset({FIRST_AXIS, COVERED})
_BY_POSITION = "only its position, and the grid or a loop of the kernel, suggest that it varies"


class ParameterSource(NamedTuple):
    """One way in which a parameter gets its value: an argument of `launch`, or a heuristic evaluated there.

    `kind` is how often `number` changes. `idle_reason` says why a change costs no program much: the launch is in a
    test, a benchmark, a tutorial, a profiler's hook or unreachable code; or that little suggests that it changes.
    """

    launch: LinkedLaunch
    path: str
    span: Span
    expr: Expr | None
    number: AbstractNumber
    kind: Variability
    idle_reason: str | None

    def with_number(self, number: AbstractNumber) -> ParameterSource:
        """Return the source with the value `number`."""
        return self if number is self.number else self._replace(number=number, kind=number.decide())


class Parameter(NamedTuple):
    """A parameter of a kernel with all of its sources and its use: `compile_time`, `read` or `unread`.

    `need` says why the kernel needs the value at compile time, as in `BodyUses.needed`; None if it does not. `worst` is
    the source that changes most often, the first in the text among equals; None if all are UNKNOWN.
    """

    kernel: Kernel
    param: Param
    use: str
    sources: tuple[ParameterSource, ...]
    need: str | None = None
    worst: ParameterSource | None = None

    @property
    def undecided(self) -> ParameterSource | None:
        """The first undecided source; None if another source changes per call."""
        if self.worst is not None and self.worst.kind is Variability.PER_CALL:
            return None
        return next((source for source in self.sources if source.kind is Variability.UNKNOWN), None)

    @property
    def in_autotune_key(self) -> bool:
        """Whether each value also starts a round of tuning."""
        return in_autotune_key(self.kernel, self.param)


@cached_in_scan(most=1)
def parameters(project: Project) -> tuple[Parameter, ...]:
    """Return every parameter that is part of a key, as a constexpr or for autotuning, by kernel, path and position."""
    every = Parameters(project)
    return tuple(
        parameter
        for kernel in project.kernels()
        for parameter in every.of(kernel, lambda kernel, param: param.is_constexpr or in_autotune_key(kernel, param))
    )


def in_autotune_key(kernel: Kernel, param: Param) -> bool:
    """Return whether each value of the parameter starts a round of tuning."""
    return kernel.autotune is not None and param.name in kernel.autotune.key


class Parameters:
    """Evaluates the parameters of one project's kernels."""

    def __init__(self, project: Project, interpreter: Interpreter | None = None) -> None:
        self._project = project
        self._interpreter = interpreter or interpreter_of(project)
        self._launches = launches_of(project)
        self._uses = ParameterUses(project, self._launches)
        self._hints = KernelHints(self._interpreter)
        self._elsewhere: dict[tuple[str, str], bool] = {}

    @cached_property
    def _thorough(self) -> Parameters:
        """The same with an interpreter that also follows callers in files without Triton."""
        return Parameters(self._project, thorough_interpreter_of(self._project))

    def of(self, kernel: Kernel, wanted: Callable[[Kernel, Param], bool]) -> Iterator[Parameter]:
        """Yield the parameters of `kernel` for which `wanted` is true."""
        params = [param for param in kernel.params if wanted(kernel, param)]
        if not params:
            return
        sources: dict[str, list[ParameterSource]] = {param.name: [] for param in params}
        launches = self._launches.get(kernel.key, ())
        # Arguments in tests and benchmarks say little about a program, and nothing if a program launches the kernel
        # too.
        for launch in [candidate for candidate in launches if not is_test(self._interpreter, candidate)] or launches:
            # Expressions that are too deeply nested to follow are unknown.
            with suppress(RecursionError):
                for name, source in with_own_stack(self._sources, launch, kernel, sources):
                    sources[name].append(source)
        for param in params:
            given = tuple(self._with_confirmed_hints(source, kernel, param) for source in sources[param.name])
            need = self._uses.need(kernel, param.name)
            yield Parameter(
                kernel=kernel,
                param=param,
                use="compile_time" if need is not None else self._uses.without_need(kernel, param.name),
                sources=given,
                need=need,
                worst=self._worst(given),
            )

    def _worst(self, sources: Sequence[ParameterSource]) -> ParameterSource | None:
        """Return the source that changes most often, preferring those that a program runs; None if all are UNKNOWN."""
        known = sorted(
            (source for source in sources if source.kind is not Variability.UNKNOWN),
            key=lambda source: (-source.kind, not source.number.from_data, source.path, source.span),
        )
        if not known or known[0].kind is not Variability.PER_CALL:
            return known[0] if known else None
        changing = [source for source in known if source.kind is Variability.PER_CALL]
        first = self._with_idle_reason(changing[0])
        if first.idle_reason is None:
            return first
        others = (self._with_idle_reason(source) for source in changing[1:])
        return next((source for source in others if source.idle_reason is None), first)

    def _with_idle_reason(self, source: ParameterSource) -> ParameterSource:
        """Return `source` with the reason why its changes do not matter, if there is one."""
        reason = explain_idle_launch(self._interpreter, source.launch) or _explain_position(source.number)
        return source._replace(idle_reason=reason)

    def _sources(
        self, launch: LinkedLaunch, kernel: Kernel, names: Collection[str]
    ) -> Sequence[tuple[str, ParameterSource]]:
        """Return what `launch` passes for the parameters `names`."""
        found = list[tuple[str, ParameterSource]]()
        interpreter, frame = self._interpreter, self._interpreter.at(launch).frame
        idle_reason = IN_TRIALS if is_test(interpreter, launch) else None
        computing = [heuristic for heuristic in kernel.heuristics if heuristic.param in names]
        wanted = frozenset(names).union(*(_followed_keys(heuristic.value) for heuristic in computing))
        arguments = bind_arguments(launch, kernel, interpreter, wanted if not kernel.heuristics_out_of_sight else None)
        for name, argument in arguments.items():
            if name in names:
                number = interpreter.as_number(argument.value, frame)
                source = ParameterSource(
                    launch=launch,
                    path=launch.module.path,
                    span=argument.span,
                    expr=argument.expr,
                    number=number,
                    kind=number.decide(),
                    idle_reason=idle_reason,
                )
                found.append((name, source))
        for heuristic in computing:
            if heuristic.param not in arguments:
                table = DictValue(items={name: argument.value for name, argument in arguments.items()}, open=True)
                value = self._heuristic(heuristic.value, kernel, table)
                if value is not None:
                    number = interpreter.as_number(value, frame)
                    source = ParameterSource(
                        launch=launch,
                        path=kernel.path,
                        span=heuristic.span,
                        expr=heuristic.value.body if isinstance(heuristic.value, Lambda) else heuristic.value,
                        number=number,
                        kind=number.decide(),
                        idle_reason=idle_reason,
                    )
                    found.append((heuristic.param, source))
        return found

    def _heuristic(self, value: Expr, kernel: Kernel, table: DictValue) -> Value | None:
        """Return the value that a heuristic computes from the arguments of a launch; None if it cannot be followed."""
        module = self._project.modules.get(kernel.path)
        if module is None:
            return None
        match value:
            case Lambda((args, *_), body):
                return self._interpreter.value(body, end_of(CallFrame(module, module.top)).binding({args: table}))
            case Name(name):
                function = self._project.names.defined(module, name)
                if isinstance(function, Function) and function.params:
                    home = self._project.names.home(function)
                    inner = CallFrame(home, function, {function.params[0].name: table}, depth=1)
                    found = [self._interpreter.value(returned.value, end_of(inner)) for returned in function.returns]
                    return found[0] if len(found) == 1 else None
        return None

    def _with_confirmed_hints(self, source: ParameterSource, kernel: Kernel, param: Param) -> ParameterSource:
        """Return the source with hints. If only hints make it change, callers in all files are followed too."""
        hinted = self._with_hints(source, kernel, param)
        if hinted.kind is not Variability.PER_CALL or hinted.idle_reason or not hinted.number.hints:
            return hinted
        number = hinted.number
        origins = {(atom.root.path, atom.root.function) for atom in number.undecided_dims}
        if not origins and not number.from_data:  # an argument, of which no caller says more
            given = (literal.function for literal in number.literals if isinstance(literal, CallerValues))
            origins |= {(function.path, function.qualname) for function in given}
        if not any(self._is_called_elsewhere(*origin) for origin in sorted(origins)):
            return hinted
        thorough = self._thorough
        with suppress(RecursionError):
            for _, other in with_own_stack(thorough._sources, source.launch, kernel, (param.name,)):
                if (other.path, other.span) == (source.path, source.span):
                    known = thorough._with_hints(other, kernel, param)
                    says_more = known.kind is not Variability.UNKNOWN and (
                        known.kind is not Variability.PER_CALL or known.number.bound is not None
                    )
                    return known if says_more else hinted
        return hinted

    def _is_called_elsewhere(self, path: str, name: str) -> bool:
        """Return whether a file without Triton calls the function with the qualified `name` in the file at `path`."""
        key = (path, name)
        if key not in self._elsewhere:
            module = self._project.modules.get(path)
            function = module.functions.get(name) if module is not None else None
            self._elsewhere[key] = (
                module is not None
                and function is not None
                and any(True for _ in self._interpreter.call_graph.callers_without_triton(module, function))
            )
        return self._elsewhere[key]

    def _with_hints(self, source: ParameterSource, kernel: Kernel, param: Param) -> ParameterSource:
        """Return the source as the user declares it, or else with the hints of the kernel: names, loops in blocks."""
        if param.name in self._project.declared:
            frame = self._interpreter.at(source.launch).frame
            return source.with_number(declared(self._project, param.name, frame))
        return source.with_number(self._hints.add_to(source.number, source.expr, source.launch, kernel, param))


def _explain_position(number: AbstractNumber) -> str | None:
    """Return why a varying `number` is information only: because of its hints, if its position gave all of them."""
    return _BY_POSITION if {hint.hint.name for hint in number.hints} == _OF_POSITION else None


def _followed_keys(expr: Expr) -> frozenset[str]:
    """Return the strings that `expr` indexes with, except in tests: `meta["x"] is not None` has few values."""
    match expr:
        case Compare():
            return frozenset()
        case Lambda(_, body):
            return _followed_keys(body)
        case Conditional(_, options):
            return frozenset[str]().union(*map(_followed_keys, options))
        case _:
            return keys(expr)

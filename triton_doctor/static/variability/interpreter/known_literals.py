"""Finds the literals that a name may be: by its assignments, by the call that entered the frame, or by all callers.

`layout = "bshd"` binds one; so does `wide = layout == "thd"`, whose truth is known, a default that a call leaves, and
`USE_FAST = True` at the top level of a module.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH
from triton_doctor.static.python.ir import Call, Compare, Conditional, Const, Name, Star, final_name
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.values.lattice import AbstractNumber
from triton_doctor.static.variability.values.values import CallFrame, ProgramPoint, end_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import Function, HostParam
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.variability.interpreter.branch_tests import BranchTests
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.values import Lazy, Value

# What a name may be: literals; None where it may be something else.
Literals: TypeAlias = "frozenset[object] | None"
# A call, and what it passes.
Called: TypeAlias = "tuple[Caller, Mapping[str, Expr]]"

# `packed = layout == "thd"`, `wide = not packed` is two names away from the parameters; a caller may hand on its own.
_MOST_STEPS = 8
# Decorators of Python and torch that add no argument to those of a call.
_PASSING_ON = frozenset({"cache", "classmethod", "compile", "custom_bwd", "custom_fwd", "custom_op", "disable"}) | {
    *("inference_mode", "lru_cache", "no_grad", "staticmethod", "triton_op")
}


class KnownLiterals:
    """Follows names to literals. The arguments of all callers count only with `follows_callers`."""

    def __init__(self, interpreter: Interpreter, tests: BranchTests, *, follows_callers: bool) -> None:
        """Start with empty caches."""
        self._interpreter = interpreter
        self._tests = tests
        self._follows_callers = follows_callers
        self._further: dict[int, Sequence[Called] | None] = {}

    def of(self, expr: Expr, point: ProgramPoint, steps: int = _MOST_STEPS) -> Literals:
        """Return the literals that `expr` may be at `point`; None if it may be something else."""
        match expr:
            case Const(value):
                return frozenset((value,)) if value is not ... else None
            case Name(name) if steps:
                return self._named(name, point, steps - 1)
            case Compare() | Conditional(None):
                found = self._tests.truth(expr, point) if steps else None
                return None if found is None else frozenset((found,))
            case Conditional(Compare() | Name() as test, (first, second)):
                chosen = self._tests.truth(test, point) if steps else None
                options = (first, second) if chosen is None else (first,) if chosen else (second,)
                return _united(self.of(option, point, steps - 1) for option in options) if steps else None
            case _:
                return None

    def _named(self, name: str, point: ProgramPoint, steps: int) -> Literals:
        frame = point.frame
        function = frame.function
        contents = function.text.contents
        if (point.local is not None and name in point.local) or name in contents.globals:
            return None
        if name not in contents.bindings and frame.arguments is not None and name in frame.arguments:
            return self._handed(frame.arguments[name], steps)
        found = reaching_definitions(function, name, point.order, point.arms)
        every = [
            self.of(binding.value, ProgramPoint(frame, binding.order, binding.arms), steps)
            for binding in found.bindings
        ]
        if None in every:
            return None
        if not found.certain:
            param = function.param(name)
            if param is not None:
                every.append(self.passed(param, frame, steps))
            elif found.bindings:
                return None
            else:
                every.append(self._outer(name, frame, steps))
        return _united(every)

    def passed(self, param: HostParam, frame: CallFrame, steps: int = _MOST_STEPS) -> Literals:
        """Return what the call that entered `frame` passes for `param`, or else what all callers pass."""
        if param.variadic:
            return None
        if frame.arguments is not None:
            passed = frame.arguments.get(param.name)
            if passed is not None:
                return self._handed(passed, steps)
            return None if frame.call is None or passes_more(frame.call) else _default(param, frame.function)
        if not self._follows_callers or frame.depth >= MOST_DEPTH:
            return None
        found = self._passed_by(self._interpreter.caller_arguments.called(frame.function), param, frame, steps)
        others = self._further_callers(frame) if found else None
        return None if others is None else _united((found, self._passed_by(others, param, frame, steps)))

    def _handed(self, passed: Value | Lazy, steps: int) -> Literals:
        """Return the literals that an argument of a frame may be."""
        if isinstance(passed, partial):
            if passed.func != self._interpreter.value:
                return None
            expr, point = passed.args
            return self.of(expr, point, steps)
        if isinstance(passed, AbstractNumber) and passed.literal is not ...:
            return frozenset((passed.literal,))
        return None

    def _passed_by(self, called: Sequence[Called], param: HostParam, frame: CallFrame, steps: int) -> Literals:
        """Return what the calls in `called` pass for `param` of the frame's function."""
        if len(called) > MOST_CALLERS:
            return None
        found: set[object] = set()
        for caller, bound in called:
            call, given = caller.site.call, bound.get(param.name)
            if given is None:
                literals = None if passes_more(call) else _default(param, frame.function)
            else:
                inner = self._interpreter.frame(caller.module, caller.function, frame.depth + 1)
                literals = self.of(given, ProgramPoint(inner, caller.site.order, caller.site.arms), steps)
            if literals is None:
                return None
            found |= literals
        return frozenset(found)

    def _outer(self, name: str, frame: CallFrame, steps: int) -> Literals:
        """Return the literals of a name of an enclosing function, or of a module that no function sets."""
        function, module = frame.function, frame.module
        if function.parent is not None and function.parent != "<module>" and frame.depth < MOST_DEPTH:
            outer = module.functions.get(function.parent)
            if outer is not None:
                inner = self._interpreter.frame(module, outer, frame.depth + 1)
                return self._named(name, end_of(inner), steps) if steps else None
        found = find_global(self._interpreter.project, module, name) if steps else None
        if found is None:
            return None
        home, name = found
        return self._named(name, end_of(self._interpreter.frame(home, home.top)), steps - 1)

    def _further_callers(self, frame: CallFrame) -> Sequence[Called] | None:
        """Return the calls of the frame's function in files without Triton; None if there may be calls out of sight.

        There may be if a package exports the function, or if a benchmark or notebook shows how to call it.
        """
        module, function = frame.module, frame.function
        if id(function) not in self._further:
            interpreter = self._interpreter
            found = interpreter.call_graph.callers_without_triton(module, function)
            further = [(caller, bind(function, caller.site.call)) for caller in islice(found, MOST_CALLERS + 1)]
            shown = any(
                interpreter.caller_arguments.only_shows(caller, function)
                for caller, _ in interpreter.caller_arguments.called(function)
            )
            is_known = not shown and not interpreter.reachability.exports(module, function)
            self._further[id(function)] = further if is_known else None
        return self._further[id(function)]


def passes_more(call: Call) -> bool:
    """Return whether `call` may pass more arguments than it names: `*args`, `**options`."""
    return any(isinstance(argument, Star) for argument in call.args) or any(name is None for name, _ in call.keywords)


def find_global(project: Project, module: Module, name: str) -> tuple[Module, str] | None:
    """Return the module at whose top level the global `name` of `module` is set, and its name there.

    None if functions of that module set it too.
    """
    found = project.names.defining(module, name) if name in module.imports else (module, name)
    if found is None or found[1] not in found[0].top.bindings or found[1] in _set_by_functions(found[0]):
        return None
    return found


@cached_in_scan()
def _set_by_functions(module: Module) -> frozenset[str]:
    """Return the names that functions of `module` declare global."""
    found = (
        function.globals
        for function in module.functions.values()
        if function is not module.top and function.holds(b"global")
    )
    return frozenset().union(*found)


def _default(param: HostParam, function: Function) -> Literals:
    """Return the default of `param`; None if a decorator of `function` may pass something else."""
    if not isinstance(param.default, Const) or any(
        final_name(decorator.func if isinstance(decorator, Call) else decorator) not in _PASSING_ON
        for decorator in function.decorators
    ):
        return None
    return frozenset((param.default.value,))


def _united(every: Sequence[Literals] | Iterator[Literals]) -> Literals:
    found: set[object] = set()
    for literals in every:
        if literals is None:
            return None
        found |= literals
    return frozenset(found)

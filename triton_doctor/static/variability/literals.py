"""Expressions to the literals that they may be: through names, conditionals, defaults, callers and constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.python.ir import Conditional, Const, Expr, Name
from triton_doctor.static.python.reaching_definitions import reaching_definitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.calls.call_graph import CallGraph
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import BranchArm, Function
    from triton_doctor.static.python.module import Module

# A literal passes through a wrapper or two on its way to a launch.
_MOST_STEPS = 6
_MOST_CALLERS = 50
# What stands after every statement of a function.
_END = 1 << 30


class Literal(NamedTuple):
    """A literal, and the line that it stands in."""

    value: object
    path: str
    line: int


class _LiteralPoint(NamedTuple):
    module: Module
    function: Function
    order: int
    arms: tuple[BranchArm, ...]
    line: int


class Literals:
    """Looks for literals in one project. What it finds is possible; there may be other values that it does not find."""

    def __init__(self, project: Project, callers: CallGraph) -> None:
        self._project = project
        self._callers = callers

    def at(self, launch: LinkedLaunch, expr: Expr) -> tuple[Literal, ...]:
        """The literals that `expr` may be at `launch`."""
        one = launch.launch
        place = _LiteralPoint(launch.module, launch.function, one.order, one.arms, one.span.line)
        return tuple(dict.fromkeys(self._of(expr, place, _MOST_STEPS)))

    def of_module(self, path: str, expr: Expr, line: int) -> tuple[Literal, ...]:
        """The literals that `expr` may be at the top level of the module at `path`, after all of its statements."""
        module = self._project.modules.get(path)
        top = module.functions.get("<module>") if module is not None else None
        if module is None or top is None:
            return ()
        return tuple(dict.fromkeys(self._of(expr, _LiteralPoint(module, top, _END, (), line), _MOST_STEPS)))

    def _of(self, expr: Expr, place: _LiteralPoint, steps: int) -> Iterator[Literal]:
        match expr:
            case Const(value):
                yield Literal(value, place.module.path, place.line)
            case Conditional(test, options) if test is not None:
                for option in options:
                    yield from self._of(option, place, steps)
            case Name(name) if steps:
                yield from self._named(name, place, steps - 1)
            case _:
                pass

    def _named(self, name: str, place: _LiteralPoint, steps: int) -> Iterator[Literal]:
        module, function, order, arms, _ = place
        if name in function.globals:
            return
        found = reaching_definitions(function, name, order, arms)
        for binding in found.bindings:
            inner = _LiteralPoint(module, function, binding.order, binding.arms, binding.line)
            yield from self._of(binding.value, inner, steps)
        if found.certain:
            return
        param = next((param for param in function.params if param.name == name), None)
        if param is not None and not param.variadic:
            yield from self._given(name, param.default, place, steps)
        elif param is None and not found.bindings:
            yield from self._outside(name, place, steps)

    def _given(self, name: str, default: Expr | None, place: _LiteralPoint, steps: int) -> Iterator[Literal]:
        """What the callers of the function give its parameter `name`, and its default where one leaves it out."""
        module, function = place.module, place.function
        if default is not None and isinstance(default, Const):
            yield Literal(default.value, module.path, function.line)
        for number, caller in enumerate(self._callers.of(module, function)):
            if number == _MOST_CALLERS:
                return
            given = bind(function, caller.site.call).get(name)
            if given is not None:
                site = caller.site
                inner = _LiteralPoint(caller.module, caller.function, site.order, site.arms, site.line)
                yield from self._of(given, inner, steps)

    def _outside(self, name: str, place: _LiteralPoint, steps: int) -> Iterator[Literal]:
        """A name of an enclosing function, or of a module."""
        module, function = place.module, place.function
        if function.parent is not None and (outer := module.functions.get(function.parent)) is not None:
            yield from self._named(name, _LiteralPoint(module, outer, _END, (), outer.line), steps)
            return
        found = self._project.names.defining(module, name) if name in module.imports else None
        if found is not None and steps:
            home, own = found
            top = home.functions["<module>"]
            yield from self._named(own, _LiteralPoint(home, top, _END, (), top.line), steps - 1)

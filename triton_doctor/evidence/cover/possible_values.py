"""Expressions to the literals that they may be: by assignments, by callers, and by what sets them elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH
from triton_doctor.static.python.conditions import none_flag
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Compare,
    Conditional,
    Const,
    IterItem,
    Name,
    Subscript,
    TupleExpr,
    Unpacked,
    dotted,
)
from triton_doctor.static.python.module import Class
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.interpreter.known_literals import passes_more
from triton_doctor.static.variability.values.lattice import UNKNOWN
from triton_doctor.static.variability.values.values import ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from triton_doctor.evidence.cover.set_values import SetPlace, SetValues
    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.python.function import Binding, BranchArm, Function, HostParam
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.values import Value


class Point(NamedTuple):
    """A point in the function that launches."""

    order: int
    arms: tuple[BranchArm, ...]


END = Point(1 << 30, ())


class PossibleValues:
    """The values of expressions in the functions that a program comes to, as far as they are literals."""

    def __init__(self, interpreter: Interpreter, is_reached: Callable[[Function], bool], set_values: SetValues) -> None:
        self._interpreter, self._is_reached, self._set_values = interpreter, is_reached, set_values

    def is_unsure(self, name: str, function: Function) -> bool:
        """Return whether a literal that callers pass for the parameter `name` may not be the only value.

        Others may come from calls that are not seen, or a caller passes what is set in several places.
        """
        param = function.param(name)
        if param is None or self._set_values.is_handed(function):
            return param is not None
        passed = ((caller, bound[name]) for caller, bound in self.callers(function) if name in bound)
        return any(
            len(self.places(given, caller.function, Point(caller.site.order, caller.site.arms))) > 1
            for caller, given in passed
        )

    def places(self, expr: Expr, function: Function, point: Point) -> Sequence[SetPlace]:
        """Return what `expr` may be set to elsewhere: an attribute, a table entry, a global, the result of a call."""
        base: Value = UNKNOWN
        module = self._interpreter.project.names.home(function)
        owner = expr.func if isinstance(expr, Call) else expr
        if isinstance(owner, Attr):
            frame = self._interpreter.frame(module, function)
            base = self._interpreter.value(owner.base, ProgramPoint(frame, point.order, point.arms))
        return self._set_values.find(expr, base, module, function)

    def of(self, expr: Expr | None, function: Function, point: Point, depth: int = 0) -> tuple[object, ...]:
        """Return the literals that `expr` may be at `point`, by all callers of `function`; `...` for other values."""

        def every(exprs: Iterable[Expr | None]) -> tuple[object, ...]:
            return _union(self.of(expr, function, point, depth + 1) for expr in exprs)

        match expr:
            case Const(value):
                return (value,)
            case Compare():
                return (True, False)
            case _ if depth > MOST_DEPTH:
                return (...,)
            case Conditional(_, options, operator):
                return every((*options, None) if operator else options)
            case IterItem(TupleExpr(items)):
                return every(items)
            case Unpacked(IterItem(TupleExpr(rows)), int(at), size, False):
                whole = [row.items[at] for row in rows if isinstance(row, TupleExpr) and len(row.items) == size]
                return every(whole) if len(whole) == len(rows) else (...,)
            case Name(name) if name in function.bindings or function.param(name) is not None:
                return self._named(name, function, point, depth)
            case Call(Attr(_, "get"), (_,), ()):
                return (..., None)
            case Call(Name("getattr"), (_, _, default)):
                return every((default, None))
            case Attr(base, name) if (fields := self._fields_of(base, function)) and name in fields:
                return every((fields[name].value,))
            case Name() | Attr() | Subscript() | Call() | Unpacked() if places := self.places(expr, function, point):
                return _union(
                    self.of(place.expr, place.function, Point(place.order, place.arms), depth + 1) for place in places
                )
            case Name() | Attr():
                frame = self._interpreter.frame(self._interpreter.project.names.home(function), function)
                return (self._interpreter.number(expr, ProgramPoint(frame, point.order, point.arms)).literal,)
            case _:
                return (...,)

    def _fields_of(self, base: Expr, function: Function) -> Mapping[str, Binding]:
        """Return the fields of the class that `base` names."""
        names, path = self._interpreter.project.names, dotted(base)
        found = names.dotted(names.home(function), path) if path is not None else None
        return found.fields if isinstance(found, Class) else {}

    def _named(self, name: str, function: Function, point: Point, depth: int) -> tuple[object, ...]:
        """Return what the local or parameter `name` may be, by its assignments and what callers pass."""
        param, flag = function.param(name), none_flag(name)
        bound = reaching_definitions(function, name, point.order, point.arms)
        found = [
            self.of(binding.value, function, Point(binding.order, binding.arms), depth + 1)
            for binding in bound.bindings
        ]
        if param is not None and not bound.certain:
            is_given = any(arm.given == name or (arm.flag == flag and not arm.is_true) for arm in point.arms)
            is_replaced = any(
                arm.flag == flag and arm.is_true and set(binding.arms) - {arm} <= set(point.arms)
                for binding in bound.bindings
                for arm in binding.arms
            )
            passed = self._passed(function, param, depth)
            found.append(tuple(value for value in passed if value is not None or not (is_given or is_replaced)))
        return _union(found if bound.certain or param is not None else [*found, (...,)])

    def _passed(self, function: Function, param: HostParam, depth: int) -> tuple[object, ...]:
        """Return what callers pass for `param`, or leave as its default; flags have two values.

        A helper that other functions of its module call is called by nobody else: a warm-up calls what requests call,
        and may pass what they leave.
        """
        callers, home = self.callers(function), self._interpreter.project.names.home(function)
        is_cut = len(self._interpreter.caller_arguments.called(function)) > MOST_CALLERS
        is_cut |= self._set_values.is_handed(function)
        is_helper = callers and not self._interpreter.reachability.exports(home, function)
        found: list[tuple[object, ...]] = [(...,)] if is_cut or not callers else []
        for caller, bound in callers:
            site, inner, given = caller.site, caller.function, bound.get(param.name)
            if given is None or inner.path != function.path or inner.name == "<module>":
                is_helper = False
            if given is not None:
                found.append(self.of(given, inner, Point(site.order, site.arms), depth + 1))
            elif passes_more(site.call):
                found.append((...,))
            else:
                found.append(self.of(param.default, home.top, END, depth + 1))
        if param.default == Const(None) and not is_helper:
            found.append((None,))
        values = _union(found)
        is_flag = param.annotation == "bool" or (isinstance(param.default, Const) and type(param.default.value) is bool)
        return (True, False) if is_flag and ... in values else values

    def callers(self, function: Function) -> list[tuple[Caller, Mapping[str, Expr]]]:
        """Return the calls of `function` that the program comes to, with their arguments."""
        every = self._interpreter.caller_arguments.called(function)
        return [pair for pair in every if self._is_reached(pair[0].function)]


def _union(parts: Iterable[tuple[object, ...]]) -> tuple[object, ...]:
    return tuple({(type(value), value): value for part in parts for value in part}.values())

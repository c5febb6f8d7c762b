"""The abstract interpreter: evaluates expressions by following assignments, calls, attributes and callers."""

from __future__ import annotations

from functools import cached_property, partial
from itertools import compress
from typing import TYPE_CHECKING

from triton_doctor.static.project.calls.call_graph import CallGraph
from triton_doctor.static.project.calls.reachability import Reachability
from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_DEPTH, Evaluations
from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Const,
    DictExpr,
    Expr,
    IterItem,
    Name,
    Star,
    Subscript,
    TupleExpr,
    Unpacked,
    dotted,
)
from triton_doctor.static.variability.hints.name_words import names_bucket
from triton_doctor.static.variability.interpreter import axes
from triton_doctor.static.variability.interpreter.arguments import saved
from triton_doctor.static.variability.interpreter.attributes import field, registered
from triton_doctor.static.variability.interpreter.branch_tests import BranchTests
from triton_doctor.static.variability.interpreter.caller_arguments import CallerArguments
from triton_doctor.static.variability.interpreter.displays import each, literal_value, operate, pack, table
from triton_doctor.static.variability.interpreter.guards import apply_item_bounds
from triton_doctor.static.variability.interpreter.layouts import Layouts
from triton_doctor.static.variability.interpreter.scopes import are_layouts, name_value
from triton_doctor.static.variability.interpreter.shared_axes import AxisChecks
from triton_doctor.static.variability.models.indexing import (
    OF_TENSORS,
    attribute,
    element,
    item,
    keeps_items,
    part,
    starred,
)
from triton_doctor.static.variability.models.lengths import length
from triton_doctor.static.variability.models.origins import declared
from triton_doctor.static.variability.models.python import call_value, rounds_to_power, typed_result
from triton_doctor.static.variability.notes.shape_notes import note_returned
from triton_doctor.static.variability.values import tensors, views
from triton_doctor.static.variability.values.lattice import FEW, UNKNOWN, AbstractNumber, Variability, choice, join
from triton_doctor.static.variability.values.values import (
    CallFrame,
    Context,
    Instance,
    Lazy,
    ProgramPoint,
    Shape,
    SymbolicValue,
    Tensor,
    TupleValue,
    Union,
    Value,
    compute,
    either,
    forget_items,
    least_certain,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.module import Module


class Interpreter:
    """Evaluates expressions of one project and caches the results.

    With `follows_all_callers`, callers without Triton are followed too.
    """

    def __init__(self, project: Project, *, follows_all_callers: bool = False) -> None:
        """Start with empty caches."""
        self.project = project
        self._asks_all = follows_all_callers
        self._frames: dict[tuple[int, int], CallFrame] = {}
        self._callees: dict[int, Function | AbstractNumber | None] = {}
        self.evaluations = Evaluations()
        self.caller_arguments = CallerArguments(self)
        self.layouts = Layouts(self)
        self.checks = AxisChecks(self)
        self.tests = BranchTests(self, follows_callers=True)
        self.own_tests = BranchTests(self, follows_callers=False)

    @cached_property
    def call_graph(self) -> CallGraph:
        """The call graph, built on first use."""
        return CallGraph(self.project, in_all_files=self._asks_all)

    @cached_property
    def reachability(self) -> Reachability:
        """The reachability analysis, built on first use."""
        return Reachability(self.project, self.call_graph)

    def at(self, launch: LinkedLaunch) -> ProgramPoint:
        """Return the program point of a launch, with its function entered from unknown callers."""
        frame = self.frame(launch.module, launch.function)
        return ProgramPoint(frame, launch.launch.order, launch.launch.arms, line=launch.launch.span.line)

    def frame(self, module: Module, function: Function, depth: int = 0) -> CallFrame:
        """Return `function` entered from unknown callers: one frame for each depth, so that its values are cached."""
        key = (id(function), depth)
        if key not in self._frames:
            self._frames[key] = CallFrame(module, function, None, depth)
        return self._frames[key]

    def number(self, expr: Expr, point: ProgramPoint) -> AbstractNumber:
        """Return `expr` at `point` as an abstract number."""
        return self.as_number(self.value(expr, point), point.frame)

    def as_number(self, value: Value, frame: CallFrame) -> AbstractNumber:
        """Return `value` as a number or flag."""
        match value:
            case AbstractNumber():
                return value
            case SymbolicValue():
                return self.caller_arguments.number(value, frame)
            case Union(options):
                return choice([self.as_number(option, frame) for option in options])
            case TupleValue() if value.count:
                joined = join([self.as_number(option, frame) for option in value.items])
                return joined.without_literals().with_integrality(is_integer=False)
            case _:
                return UNKNOWN

    def axis(self, value: Tensor | SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber:
        """Return `value.shape[position]`."""
        return axes.axis(self, value, position, frame).as_size()

    def numel(self, value: Tensor | SymbolicValue, frame: CallFrame) -> AbstractNumber:
        """Return the product of all axes of `value`, which may be a part of a shape."""
        return axes.resolve_through_callers(self, tensors.numel(value), frame).as_size()

    def stride(self, value: Tensor | SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber:
        """Return `value.stride(position)`."""
        return axes.stride(self, value, position, frame).as_size()

    def part(self, value: Value, position: int, size: int, is_open: bool, frame: CallFrame) -> Value | None:
        """Return one target of unpacking `value`, or what callers pass for it; None if the sizes do not fit."""
        if isinstance(value, SymbolicValue):
            passed = self.caller_arguments.part(value, position, size, frame, is_open=is_open)
            if passed is not None:
                return passed.with_integrality(is_integer=False)
        return part(self, value, position, size, is_open, frame)

    def value(self, expr: Expr, point: ProgramPoint) -> Value:
        """Return the value of `expr` at `point`."""
        match expr:  # most frequent kinds first
            case Name():
                return name_value(self, expr.id, point)
            case Call():
                return self._call(expr, point)
            case Attr() | Subscript():
                return self._part_of_value(expr, point)
            case Const(literal):
                return literal_value(literal, point)
            case Unpacked(of, None, size, _, before):
                return starred(self, self.value(of, point), before, size - before, point.frame)
            case Unpacked(of, int(position), size, open_):
                return self._part(of, position, size, open_, point)
            case BinaryOp(op, operands):
                return operate(self, op, operands, point)
            case Compare():
                return FEW
            case Conditional(test, options):
                chosen = self.tests.truth(test, point) if test is not None else None
                if chosen is not None:
                    return self.value(options[0 if chosen else 1], point)
                values = [self.value(option, point) for option in options]
                if are_layouts(options):
                    return least_certain(self.as_number(value, point.frame) for value in values)
                return either(values) if test is not None else compute(either(values))
            case TupleExpr(items):
                return pack(self, items, point)
            case DictExpr(items):
                return table(self, items, point)
            case Comprehension():
                return each(self, expr, point)
            case IterItem(source):
                found = element(self, self.value(source, point), point.frame)
                return forget_items(found) if isinstance(source, Name | Attr) else found
            case Star(of):
                return self.value(of, point)
            case _:
                return UNKNOWN

    def length(self, value: Value, frame: CallFrame) -> AbstractNumber:
        """Return `len(value)`."""
        return length(self, value, frame).as_size()

    def passed_length(self, symbol: SymbolicValue, frame: CallFrame) -> AbstractNumber | None:
        """Return the length of what callers pass for `symbol`; None if they do not decide it."""
        return self.caller_arguments.length(symbol, frame)

    def _part_of_value(self, expr: Attr | Subscript, point: ProgramPoint) -> Value:
        """Return `x.name` or `x[key]`, cached for this point if it is complete."""
        parts, key = point.frame.parts, (id(expr), point.order, point.arms, point.line)
        if point.local is None and (kept := parts.get(key)) is not None:
            return kept[1]
        if isinstance(expr, Attr):
            evaluate = partial(self._attribute, expr.base, expr.name, point)
        else:
            evaluate = partial(self._item, expr.base, expr.key, point)
        value, is_complete = self.evaluations.track(evaluate)
        if is_complete and point.local is None:
            parts[key] = expr, value  # keep the expression alive: a later one may get the same id
        return value

    def _attribute(self, base: Expr, name: str, point: ProgramPoint) -> Value:
        """Return `base.name` for any `base`: an object of the project, an autograd context, a tensor, an argument."""
        if name in self.project.declared:
            return declared(self.project, name, point.frame)
        value = self.value(base, point)
        found: Value | None = None
        match value:
            case Instance(of):
                found = field(self, of, name, point.frame)
            case Context(forward):
                found = saved(self, forward, name, point.frame)
            case SymbolicValue(_, number, origin) if number.kind is Variability.UNKNOWN:
                found = registered(self, base, name, point)
                if found is None and origin is not None and name not in OF_TENSORS:
                    found = self.caller_arguments.attribute(value, name, point.frame)
            case _:
                pass
        return forget_items(attribute(self, value, name, base, point) if found is None else found)

    def _part(self, of: Expr, position: int, size: int, open_: bool, point: ProgramPoint) -> Value:
        value = self.value(of, point)
        options = value.options if isinstance(value, Union) else (value,)
        found = [self.part(option, position, size, open_, point.frame) for option in options]
        known = [target for target in found if target is not None]
        if not known:
            return UNKNOWN
        target = self._either(known, options, point)
        if point.frame.function.limits:
            target = apply_item_bounds(self, target, of, position, point)
        return target if keeps_items(of, options) else forget_items(target)

    def _item(self, base: Expr, key: Expr, point: ProgramPoint) -> Value:
        value = self.value(base, point)
        options = value.options if isinstance(value, Union) else (value,)
        found = self._either([item(self, option, base, key, point) for option in options], options, point)
        if isinstance(key, Const) and point.frame.function.limits:
            found = apply_item_bounds(self, found, base, key.value, point)
        return found if keeps_items(base, options) else forget_items(found)

    def _either(self, found: Sequence[Value], options: Sequence[Value], point: ProgramPoint) -> Value:
        """Return the union of the parts `found` of `options`."""
        if len(options) == 1:
            return found[0]
        if views.differ_in_order(options) and not any(isinstance(part, Tensor | TupleValue | Shape) for part in found):
            return least_certain(self.as_number(part, point.frame) for part in found)
        return either(found)

    def _call(self, call: Call, point: ProgramPoint) -> Value:
        frame = point.frame
        key = ("()", id(call))
        if point.local is None and key in frame.values:
            return frame.values[key]
        if id(call) not in self._callees:
            self._callees[id(call)] = self._callee(call, frame)
        function = self._callees[id(call)]
        if isinstance(function, AbstractNumber):
            return function
        if function is None:
            value = compute(typed_result(call_value(self, call, point), call))
        else:
            value = compute(self.enter_function(function, call, point))
        if point.local is None:
            frame.values[key] = value
        return value

    def _callee(self, call: Call, frame: CallFrame) -> Function | AbstractNumber | None:
        """Return the project function that `call` runs, if it is followed; UNKNOWN if named as a bucket."""
        if (name := dotted(call.func)) is not None and names_bucket(name.rpartition(".")[2]):
            return UNKNOWN
        found = self.call_graph.find_callee(frame.module, frame.function, call.func)
        return None if found is None or rounds_to_power(found.name) else found

    def enter_function(self, function: Function, call: Call, point: ProgramPoint) -> Value:
        """Return what a function of the project returns to this call."""
        frame = point.frame
        if frame.depth >= MOST_DEPTH:
            return UNKNOWN
        bound = bind(function, call).items()
        arguments: dict[str, Lazy] = {name: partial(self.value, arg, point) for name, arg in bound}
        inner = CallFrame(self.project.names.home(function), function, arguments, frame.depth + 1, call)
        return self.return_value(inner)

    def return_value(self, frame: CallFrame) -> Value:
        """Return what the function of `frame` returns; UNKNOWN on recursion."""
        return self.evaluations.guard((id(frame.function), "()", 0), partial(self._returned, frame), UNKNOWN)

    def _returned(self, frame: CallFrame) -> Value:
        returns = frame.function.returns
        is_open = (
            len(returns) == 1 or self.tests.closing(result.order, result.arms, frame) is None for result in returns
        )
        found = (
            (result, self.value(result.value, ProgramPoint(frame, result.order)))
            for result in compress(returns, is_open)
        )
        return either([note_returned(value, result, frame) for result, value in found])

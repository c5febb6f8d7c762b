"""Parameters of host functions without a known call, and what autograd passes: `ctx` and gradients.

notes suggest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import (
    Attr,
    Const,
    Name,
    TupleExpr,
)
from triton_doctor.static.variability.hints.axis_context import AxisContext, Toward
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.hints.name_words import (
    are_axes_of_weight,
    names_data,
    names_nothing_but_length,
    names_parameter,
    names_weight,
    orthogonalizes,
    steps_optimizer,
    works_on_weights,
)
from triton_doctor.static.variability.interpreter.attributes import stored_value
from triton_doctor.static.variability.notes.axis_meanings import are_axes_of_activation
from triton_doctor.static.variability.notes.axis_names import beside_heads, named_axes
from triton_doctor.static.variability.notes.kernel_notes import note_of_argument
from triton_doctor.static.variability.notes.named_sizes import first_sizes, shapes_spelled
from triton_doctor.static.variability.notes.shape_notes import note_of_unpacking, notes_of
from triton_doctor.static.variability.values.dims import Origin
from triton_doctor.static.variability.values.lattice import (
    FEW,
    FIXED,
    UNKNOWN,
    AbstractNumber,
    CallerValues,
    Note,
    Term,
    Variability,
)
from triton_doctor.static.variability.values.values import (
    CallFrame,
    Context,
    Instance,
    ProgramPoint,
    SymbolicValue,
    TupleValue,
    Value,
    either,
    end_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.python.function import Function, HostParam
    from triton_doctor.static.variability.hints.hints import AppliedHint
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter


def parameter(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> Value:
    """Return the value of a parameter in `frame`: the argument, or a symbolic value that callers may resolve."""
    function = frame.function
    if frame.arguments is not None:
        passed = frame.arguments.get(param.name)
        if passed is not None:
            return passed() if isinstance(passed, partial) else passed
        if param.default is not None:
            return interpreter.value(param.default, end_of(CallFrame(frame.module, function, {}, frame.depth)))
    if param.name in ("self", "cls") and function.class_name is not None:
        owner = frame.module.classes.get(function.class_name)
        if owner is not None:
            return Instance(of=owner)
    context = context_of(interpreter, param, frame)
    if context is not None:
        return context
    return UNKNOWN if param.variadic else interpreter.caller_arguments.argument(param, frame)


def argument_value(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> SymbolicValue:
    """Return the symbolic value of `param` in a frame without a call."""
    function = frame.function
    names = named_axes(function, param.name)
    weight = names_weight(param.name) and not (names_parameter(param.name) and are_axes_of_activation(names))
    weight = weight or are_axes_of_weight(names) or _takes_weights(function)
    path = function.path
    beside = apply_hints(AxisContext(is_beside_heads=True), path, function.line)
    hints = dict.fromkeys(beside_heads(names), beside)
    note = partial(note_of_argument, interpreter.project, function, param.name)
    root = Origin(
        path, function.qualname, param.name, function.line, len(names) or None, weight, hints=hints, read_note=note
    )
    is_integer = param.annotation == "int" and (
        param.default is None or interpreter.number(param.default, default_point(function, frame)).is_integer
    )
    number = _number(function, param.name).with_integrality(is_integer=is_integer)
    return SymbolicValue(root=root, number=number, origin=function)


@cached_in_scan()
def _takes_weights(function: Function) -> bool:
    """Return whether all tensors that `function` takes live as long as the model, or are as large as what does."""
    if works_on_weights(function.name) or orthogonalizes(f"{function.path}:{function.name}".lower()):
        return True
    return steps_optimizer(param.name for param in function.params)


def default_point(function: Function, frame: CallFrame) -> ProgramPoint:
    """Return the program point at which the defaults of `function`, entered in `frame`, are evaluated."""
    outer = frame.module.functions.get(function.parent or "<module>") or function
    return end_of(CallFrame(frame.module, outer, {}, frame.depth))


def number_of(interpreter: Interpreter, symbol: SymbolicValue) -> AbstractNumber:
    """Return `symbol` as a number.

    For a parameter, this includes the hints from shape notes about a size of that name, and what the name says where
    nothing calls the function.
    """
    function, number = symbol.origin, symbol.number
    if function is None or number.kind is not Variability.UNKNOWN:
        return number
    name = symbol.root.name
    if symbol.held is None and names_nothing_but_length(name) and _is_from_outside(interpreter, function, name):
        outside = AxisContext(name=name, is_from_outside=True)
        number = number.add_hints(apply_hints(outside, function.path, function.line))
    size = notes_of(function).sizes.get(name)
    if size is None:
        return number
    note, position = size
    noted = AxisContext(noted=note.toward(position))
    return number.add_hints(apply_hints(noted, function.path, note.line))


def left_default(interpreter: Interpreter, symbol: SymbolicValue, frame: CallFrame) -> AbstractNumber | None:
    """Return the integer that is the default of the parameter `symbol`, if all callers are known and leave it so."""
    function = symbol.origin
    if function is None or symbol.held is not None or symbol.number.kind is not Variability.UNKNOWN:
        return None
    param = _with_integer_default(function).get(symbol.root.name)
    if param is None or not isinstance(param.default, Const):
        return None
    literal = param.default.value
    if not isinstance(literal, int) or interpreter.tests.passed(param, frame) != frozenset((literal,)):
        return None
    known = FIXED._replace(literal=literal, low=literal, high=literal, is_integer=True)
    return known._replace(trail=symbol.number.trail)


@cached_in_scan()
def _with_integer_default(function: Function) -> Mapping[str, HostParam]:
    """Return the parameters of `function` that have an integer as default, by name."""
    return {
        param.name: param
        for param in function.params
        if isinstance(param.default, Const) and type(param.default.value) is int
    }


def _is_from_outside(interpreter: Interpreter, function: Function, name: str) -> bool:
    """Return whether nothing in the project calls `function`, and it has no default for `name`."""
    param = function.param(name)
    if param is None or param.default is not None:
        return False
    return not interpreter.caller_arguments.called(function)


@cached_in_scan()
def _number(function: Function, name: str) -> AbstractNumber:
    """Return the parameter `name` of `function` as a number, with what annotation, default and name suggest."""
    (param,) = (param for param in function.params if param.name == name)
    literals = (CallerValues(function, name),)
    trail = (
        Note(function.path, function.line, f"`{name}` is an argument of `{function.qualname.rpartition('.')[2]}`"),
    )
    if param.annotation in ("bool", "dtype", "str", "float") or (
        isinstance(param.default, Const) and isinstance(param.default.value, bool | str | float)
    ):
        return FEW._replace(literals=literals, trail=trail)
    context = AxisContext(name=name, position=0 if name in first_sizes(function) else None)
    applied = apply_hints(context, function.path, function.line) | _hints_of_shapes(function, name)
    terms = frozenset({Term(applied)})
    return AbstractNumber(kind=Variability.UNKNOWN, terms=terms, literals=literals, trail=trail)


def _hints_of_shapes(function: Function, name: str) -> frozenset[AppliedHint]:
    """Return the hints about the size `name` from the names of other sizes in the same allocations, if all agree."""
    directions = set[Toward | None]()
    for names in shapes_spelled(function) if names_data(name) else ():
        if name in names:
            note = note_of_unpacking(function, names)
            directions.add(note.toward(names.index(name)) if note is not None else None)
    if directions != {Toward.DATA}:
        return frozenset()
    return apply_hints(AxisContext(unpacked=Toward.DATA), function.path, function.line)


def context_of(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> Context | None:
    """Return the autograd context that `param` is: in backward, or in a helper that backward passes its `ctx` to."""
    function = frame.function
    if function.class_name is None or not function.params or param is not function.params[0]:
        return None
    forward = frame.module.functions.get(f"{function.class_name}.forward")
    backward = frame.module.functions.get(f"{function.class_name}.backward")
    if forward is None or function is forward:
        return None
    if function is backward:
        return Context(forward=forward)
    if backward is None or not backward.params:
        return None
    evaluation = partial(_is_handed, interpreter, function, backward, frame)
    return Context(forward=forward) if interpreter.evaluations.memoize(("context", id(function)), evaluation) else None


def _is_handed(interpreter: Interpreter, function: Function, backward: Function, frame: CallFrame) -> bool:
    """Return whether `backward` passes its `ctx` to `function`, directly or through others."""
    return function in _holders(interpreter, backward, frame)


def saved(interpreter: Interpreter, forward: Function, name: str, frame: CallFrame) -> Value:
    """Return `ctx.name` in backward: what forward stored; `saved_tensors` in the order of `save_for_backward`."""
    if frame.depth >= MOST_DEPTH or not forward.params:
        return UNKNOWN
    module = interpreter.project.names.home(forward)
    holders = _holders(interpreter, forward, interpreter.frame(module, forward, frame.depth + 1))
    if name == "saved_tensors":
        for function, context in holders.items():
            for site in function.calls:
                match site.call.func:
                    case Attr(Name(base), "save_for_backward") if base == context:
                        inner = interpreter.frame(module, function, frame.depth + 1)
                        return interpreter.value(TupleExpr(site.call.args), ProgramPoint(inner, site.order, site.arms))
                    case _:
                        pass
        return UNKNOWN
    return either(
        [
            stored_value(interpreter, module, function, stored, frame.depth + 1)
            for function, context in holders.items()
            for stored in function.stored
            if stored.base == context and stored.name == name
        ]
    )


def differentiated(interpreter: Interpreter, function: Function, name: str, depth: int) -> Value | None:
    """Return the output of forward whose gradient a backward receives as `name`: both have the same shape.

    None if `function` is no backward, or `name` no gradient. `depth` is the depth of calls.
    """
    if function.name != "backward" or function.class_name is None or depth >= MOST_DEPTH:
        return None
    module = interpreter.project.names.home(function)
    forward = module.functions.get(f"{function.class_name}.forward")
    gradients = [param.name for param in function.params[1:] if not param.variadic]
    if forward is None or name not in gradients:
        return None
    position = gradients.index(name)
    match interpreter.return_value(interpreter.frame(module, forward, depth + 1)):
        case TupleValue(open=False) as results:
            return results.at(position) if position < results.count else None
        case result:
            return result if position == 0 else None


def _holders(interpreter: Interpreter, function: Function, frame: CallFrame) -> Mapping[Function, str]:
    """Return `function` and the functions of its class that receive its context, each with its name for the context."""
    held = {function: function.params[0].name}
    waiting = [function]
    while waiting:
        expr = waiting.pop()
        context = Name(held[expr])
        for site in expr.calls:
            if context not in site.call.args[:1]:
                continue
            helper = interpreter.call_graph.find_callee(frame.module, expr, site.call.func)
            if helper is None or helper in held or helper.class_name != function.class_name or not helper.params:
                continue
            first = helper.params[0].name
            if bind(helper, site.call).get(first) == context:
                held[helper] = first
                waiting.append(helper)
    return held

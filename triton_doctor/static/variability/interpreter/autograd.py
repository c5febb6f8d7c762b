"""Autograd functions: what forward stores in `ctx` for backward, and the shapes of gradients."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import Attr, Name, TupleExpr
from triton_doctor.static.variability.interpreter.attribute_stores import stored_value
from triton_doctor.static.variability.values.lattice import UNKNOWN
from triton_doctor.static.variability.values.program_point import CallFrame, ProgramPoint
from triton_doctor.static.variability.values.values import Context, TupleValue, Value, either

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.python.function import Function, HostParam
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter


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
    ask = partial(_is_handed, interpreter, function, backward, frame)
    return Context(forward=forward) if interpreter.evaluations.memoize(("context", id(function)), ask) else None


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
        one = waiting.pop()
        context = Name(held[one])
        for site in one.calls:
            if context not in site.call.args[:1]:
                continue
            helper = interpreter.call_graph.find_callee(frame.module, one, site.call.func)
            if helper is None or helper in held or helper.class_name != function.class_name or not helper.params:
                continue
            first = helper.params[0].name
            if bind(helper, site.call).get(first) == context:
                held[helper] = first
                waiting.append(helper)
    return held

"""Whether a name is None at a point: by tests, by its bindings, and by the arguments of callers.

`if lengths is not None: assert batch == 1` bounds the batch in a function to which all callers pass lengths.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH
from triton_doctor.static.python.conditions import none_flag
from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Const,
    DictExpr,
    Name,
    TupleExpr,
)
from triton_doctor.static.python.reaching_definitions import keeps_flag, reaching_definitions
from triton_doctor.static.variability.interpreter.attributes import stores_in_class
from triton_doctor.static.variability.interpreter.known_literals import passes_more
from triton_doctor.static.variability.models.torch import ALLOCATING, KEEPING, LIKE, METHODS, NEW
from triton_doctor.static.variability.values.program_point import ProgramPoint
from triton_doctor.static.variability.values.values import Context

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.python.function import BranchArm, Function, HostParam
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import CallFrame

_MAKING = ALLOCATING | KEEPING | LIKE | METHODS | NEW | frozenset({"tensor", "as_tensor", "arange", "contiguous"})


def is_taken(interpreter: Interpreter, arm: BranchArm, point: ProgramPoint) -> bool:
    """Return whether every path to `point` takes `arm`, which only tests a name for "is not None"."""
    return arm.given is not None and is_none(interpreter, arm.given, point) is False


def is_none(interpreter: Interpreter, name: str, point: ProgramPoint) -> bool | None:
    """Return whether `name` is None at `point`; None if unknown or varying."""
    function, flag = point.frame.function, none_flag(name)
    if keeps_flag(function, flag):
        for arm in point.arms:
            if arm.flag == flag:
                return arm.is_true
        for test in function.none_tests.get(name, ()):
            if test.order < point.order and set(test.arms) <= set(point.arms):
                return test.is_none
    found = reaching_definitions(function, name, point.order, point.arms)
    answers = [
        is_none_there(interpreter, one.value, ProgramPoint(point.frame, one.order, one.arms)) for one in found.bindings
    ]
    if not found.certain:
        param = function.param(name)
        answers.append(_is_passed_none(interpreter, param, point.frame) if param is not None else None)
    return _agreed(answers)


def is_likely_given(interpreter: Interpreter, name: str, point: ProgramPoint) -> bool:
    """Return whether `name` is not None at `point`, or whatever the program passes for it is read from an object.

    `run(x, lengths=batch.lengths)`: a caller that passes it along has it in some of its calls.
    """
    known = is_none(interpreter, name, point)
    if known is not None:
        return not known
    frame = point.frame
    found = reaching_definitions(frame.function, name, point.order, point.arms)
    if not all(_gives(interpreter, one.value, ProgramPoint(frame, one.order, one.arms)) for one in found.bindings):
        return False
    param = frame.function.param(name)
    return found.certain or (param is not None and _is_likely_passed(interpreter, param, frame))


def _gives(interpreter: Interpreter, value: Expr, point: ProgramPoint) -> bool:
    match value:
        case Attr(base):  # what `forward` stores in its context may be a None that it was passed
            return not isinstance(interpreter.value(base, point), Context)
        case Name(name):
            key = ("likely given", id(point.frame), name, point.order)
            return interpreter.evaluations.guard(key, partial(is_likely_given, interpreter, name, point), False)
        case _:
            return is_none_there(interpreter, value, point) is False


def _is_likely_passed(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> bool:
    if frame.arguments is not None:
        passed = frame.arguments.get(param.name)
        if isinstance(passed, partial) and passed.func == interpreter.value:
            return _gives(interpreter, *passed.args)
        return False
    if param.variadic or frame.depth >= MOST_DEPTH or not interpreter.follows_callers:
        return False
    key = ("likely passed", id(frame.function), param.name)
    ask = partial(_is_likely_passed_by_callers, interpreter, param, frame)
    return interpreter.evaluations.evaluate(key, ask, on_cycle=False, beyond_limit=False)


def _is_likely_passed_by_callers(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> bool:
    called = interpreter.caller_arguments.called(frame.function)
    if not 0 < len(called) <= MOST_CALLERS:
        return False
    for caller, bound in called:
        inner = interpreter.frame(caller.module, caller.function, frame.depth + 1)
        point = ProgramPoint(inner, caller.site.order, caller.site.arms)
        if param.name not in bound or not _gives(interpreter, bound[param.name], point):
            return False
    return True


def _agreed(answers: Iterable[bool | None]) -> bool | None:
    different = set(answers)
    return different.pop() if len(different) == 1 else None


def is_none_there(interpreter: Interpreter, value: Expr, point: ProgramPoint) -> bool | None:
    """Return whether `value` is None at `point`; None if unknown or varying."""
    match value:
        case Const(literal):
            return literal is None
        case Name(name):
            key = ("is None", id(point.frame), name, point.order)
            return interpreter.evaluations.guard(key, partial(is_none, interpreter, name, point), None)
        case Attr(Name("self"), name):
            own = ("is None", point.frame.function.path, point.frame.function.class_name, name)
            return interpreter.evaluations.guard(own, partial(_is_set_to_none, interpreter, name, point.frame), None)
        case Conditional(test, options) if test is not None:
            chosen = interpreter.tests.truth(test, point)
            possible = options if chosen is None else options[:1] if chosen else options[1:]
            return _agreed([is_none_there(interpreter, option, point) for option in possible])
        case TupleExpr() | DictExpr() | BinaryOp() | Compare() | Comprehension():
            return False
        case Call(Attr(_, method)) if method in _MAKING:
            return False
        case _:
            return None


def _is_set_to_none(interpreter: Interpreter, name: str, frame: CallFrame) -> bool | None:
    """Return whether all that the methods of the frame's class assign to `self.name` is None.

    A parameter is not, if its annotation excludes None: `def __init__(self, k: int = 2)`.
    """
    module = frame.module
    of = module.classes.get(frame.function.class_name or "")
    if of is None or frame.depth >= MOST_DEPTH:
        return None
    answers: list[bool | None] = []
    for function, stored in stores_in_class(module, of, name):
        given = stored.value.id if isinstance(stored.value, Name) else ""
        param = function.param(given) if given not in function.bindings else None
        if param is not None and not param.allows_none and param.default != Const(None):
            answers.append(False)
        else:
            point = ProgramPoint(interpreter.frame(module, function, frame.depth + 1), stored.order)
            answers.append(is_none_there(interpreter, stored.value, point))
    return _agreed(answers)


def _is_passed_none(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> bool | None:
    """Return whether None is passed for `param`, by the call that entered `frame` or else by all callers."""
    if param.variadic:
        return None
    if frame.arguments is not None:
        passed = frame.arguments.get(param.name)
        if passed is None:
            return _by_default(param)
        if isinstance(passed, partial) and passed.func == interpreter.value:
            return is_none_there(interpreter, *passed.args)
        return None
    if frame.depth >= MOST_DEPTH or not interpreter.follows_callers:
        return False if _is_told_apart(param, frame.function) else None
    key = ("passed None", id(frame.function), param.name)
    ask = partial(_is_none_for_callers, interpreter, param, frame)
    return interpreter.evaluations.evaluate(key, ask, on_cycle=None, beyond_limit=None)


def _is_none_for_callers(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> bool | None:
    called = interpreter.caller_arguments.called(frame.function)
    if len(called) > MOST_CALLERS:
        return None
    answers: list[bool | None] = []
    for caller, bound in called:
        call = caller.site.call
        arg = bound.get(param.name)
        if arg is not None:
            answers.append(is_none_at_call(interpreter, arg, caller, frame))
        elif passes_more(call):
            answers.append(None)
        else:
            answers.append(_by_default(param))
    found = _agreed(answers)
    return False if found is None and True not in answers and _is_told_apart(param, frame.function) else found


def is_none_at_call(interpreter: Interpreter, arg: Expr, caller: Caller, frame: CallFrame) -> bool | None:
    """Return whether `arg`, which `caller` passes to the frame's function, is None; None if unknown."""
    inner = interpreter.frame(caller.module, caller.function, frame.depth + 1)
    return is_none_there(interpreter, arg, ProgramPoint(inner, caller.site.order, caller.site.arms))


def _is_told_apart(param: HostParam, function: Function) -> bool:
    """Return whether the annotation of `param` excludes None, in a signature whose other annotations include it."""
    if param.default is not None or param.allows_none:
        return False
    return any(one.annotation is not None and one.allows_none for one in function.params)


def _by_default(param: HostParam) -> bool | None:
    return None if param.default is None else param.default == Const(None)

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
from triton_doctor.static.variability.interpreter.known_literals import passes_more
from triton_doctor.static.variability.models.torch import ALLOCATING, KEEPING, LIKE, METHODS, NEW
from triton_doctor.static.variability.values.program_point import ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

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


def is_given_by_some(interpreter: Interpreter, name: str, point: ProgramPoint) -> bool | None:
    """Return whether some caller gives `name` a value at `point` and none leaves it out; None if unknown.

    `run(x, lengths=batch.lengths)` gives it: a caller that reads it from an object has it in some of its calls.
    """
    known = _opposite(is_none(interpreter, name, point))
    if known is not None:
        return known
    frame = point.frame
    found = reaching_definitions(frame.function, name, point.order, point.arms)
    answers = [_gives(interpreter, one.value, ProgramPoint(frame, one.order, one.arms)) for one in found.bindings]
    param = frame.function.param(name)
    if not found.certain and param is not None:
        answers.append(_is_given(interpreter, param, frame))
    return _given_by_some(answers)


def _given_by_some(answers: Collection[bool | None]) -> bool | None:
    return False if False in answers else True in answers or None


def _gives(interpreter: Interpreter, value: Expr, point: ProgramPoint) -> bool | None:
    match value:
        case Attr():
            return True
        case Name(name):
            key = ("gives", id(point.frame), name, point.order)
            return interpreter.evaluations.guard(key, partial(is_given_by_some, interpreter, name, point), None)
        case _:
            return _opposite(is_none_there(interpreter, value, point))


def _is_given(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> bool | None:
    if frame.arguments is not None:
        passed = frame.arguments.get(param.name)
        if passed is None:
            return _opposite(_by_default(param))
        if isinstance(passed, partial) and passed.func == interpreter.value:
            return _gives(interpreter, *passed.args)
        return None
    if param.variadic or frame.depth >= MOST_DEPTH or not interpreter.follows_callers:
        return None
    key = ("given", id(frame.function), param.name)
    ask = partial(_is_given_by_callers, interpreter, param, frame)
    return interpreter.evaluations.evaluate(key, ask, on_cycle=None, beyond_limit=None)


def _is_given_by_callers(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> bool | None:
    called = interpreter.caller_arguments.called(frame.function)
    if len(called) > MOST_CALLERS:
        return None
    answers: list[bool | None] = []
    for caller, bound in called:
        inner = interpreter.frame(caller.module, caller.function, frame.depth + 1)
        point = ProgramPoint(inner, caller.site.order, caller.site.arms)
        if param.name in bound:
            answers.append(_gives(interpreter, bound[param.name], point))
        else:
            answers.append(None if passes_more(caller.site.call) else _opposite(_by_default(param)))
    return _given_by_some(answers)


def _opposite(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


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
        case Conditional(test, options) if test is not None:
            chosen = interpreter.tests.truth(test, point)
            kept = options if chosen is None else options[:1] if chosen else options[1:]
            return _agreed([is_none_there(interpreter, option, point) for option in kept])
        case TupleExpr() | DictExpr() | BinaryOp() | Compare() | Comprehension():
            return False
        case Call(Attr(_, method)) if method in _MAKING:
            return False
        case _:
            return None


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

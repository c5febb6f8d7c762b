"""Names to whether they are None: as a branch or a test before says, as they were bound, and as the callers pass them.

`if lengths is not None: assert batch == 1` leaves one batch to a function that all callers give lengths.
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
    Star,
    TupleExpr,
)
from triton_doctor.static.python.reaching_definitions import keeps_flag, reaching_definitions
from triton_doctor.static.variability.models.torch import ALLOCATING, KEEPING, LIKE, METHODS, NEW
from triton_doctor.static.variability.program_point import ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.python.function import BranchArm, Function, HostParam
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.program_point import CallFrame

_MAKING = ALLOCATING | KEEPING | LIKE | METHODS | NEW | frozenset({"tensor", "as_tensor", "arange", "contiguous"})


def is_taken(interpreter: Interpreter, arm: BranchArm, point: ProgramPoint) -> bool:
    """Whether `arm`, which asks no more than that a name is not None, is taken on every way to `point`."""
    return arm.given is not None and is_none(interpreter, arm.given, point) is False


def is_none(interpreter: Interpreter, name: str, point: ProgramPoint) -> bool | None:
    """Whether the value of `name` at `point` is None; None where that is not known, or differs."""
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


def _agreed(answers: Iterable[bool | None]) -> bool | None:
    different = set(answers)
    return different.pop() if len(different) == 1 else None


def is_none_there(interpreter: Interpreter, value: Expr, point: ProgramPoint) -> bool | None:
    """Whether `value` is None at `point`; None where that is not known, or differs."""
    match value:
        case Const(literal):
            return literal is None
        case Name(name):
            key = ("is None", id(point.frame), name, point.order)
            return interpreter.evaluations.once(key, partial(is_none, interpreter, name, point), None)
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
    """Whether None is passed for `param`: by the call that `frame` was entered from, or else by all callers."""
    if param.variadic:
        return None
    if frame.arguments is not None:
        passed = frame.arguments.get(param.name)
        if passed is None:
            return _by_default(param)
        if isinstance(passed, partial) and passed.func == interpreter.value:
            return is_none_there(interpreter, *passed.args)
        return None
    if frame.depth >= MOST_DEPTH or not interpreter.asks:
        return False if _is_told_apart(param, frame.function) else None
    key = ("passed None", id(frame.function), param.name)
    ask = partial(_is_none_for_callers, interpreter, param, frame)
    return interpreter.evaluations.answer(key, ask, neutral=None, beyond=None)


def _is_none_for_callers(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> bool | None:
    called = interpreter.asked.called(frame.function)
    if len(called) > MOST_CALLERS:
        return None
    answers: list[bool | None] = []
    for caller, bound in called:
        call = caller.site.call
        arg = bound.get(param.name)
        if arg is not None:
            answers.append(is_none_at_call(interpreter, arg, caller, frame))
        elif any(isinstance(one, Star) for one in call.args) or any(name is None for name, _ in call.keywords):
            answers.append(None)
        else:
            answers.append(_by_default(param))
    found = _agreed(answers)
    return False if found is None and True not in answers and _is_told_apart(param, frame.function) else found


def is_none_at_call(interpreter: Interpreter, arg: Expr, caller: Caller, frame: CallFrame) -> bool | None:
    """Whether `arg`, which `caller` passes to the function of `frame`, is None; None where that is not known."""
    inner = interpreter.frame(caller.module, caller.function, frame.depth + 1)
    return is_none_there(interpreter, arg, ProgramPoint(inner, caller.site.order, caller.site.arms))


def _is_told_apart(param: HostParam, function: Function) -> bool:
    """Whether the annotation of `param` leaves out None, by an author who writes None where another may be None."""
    if param.default is not None or param.allows_none:
        return False
    return any(one.annotation is not None and one.allows_none for one in function.params)


def _by_default(param: HostParam) -> bool | None:
    return None if param.default is None else param.default == Const(None)

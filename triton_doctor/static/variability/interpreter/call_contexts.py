"""Branches of a function that certain callers never take, because their other arguments decide the tests.

With `if mask is not None: heads, rows = q.shape` and `else: rows, heads = q.shape`, a caller that passes a mask tells
nothing about the second. The same holds for `packed = mask is not None` before, for a default, and for a literal flag.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH
from triton_doctor.static.python.conditions import name_in_flag
from triton_doctor.static.python.ir import Compare, Conditional, Const, Name, Star
from triton_doctor.static.python.reaching_definitions import keeps_flag
from triton_doctor.static.variability.interpreter.nullness import is_none_at_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.python.function import BranchArm, Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import CallFrame

NO_CALLERS: frozenset[int] = frozenset()
# How many names to follow from a test to the parameters: `a = b is not None`, `c = a and not d` are two.
_MOST_NAMES = 3


def find_excluded_callers(interpreter: Interpreter, frame: CallFrame, arms: tuple[BranchArm, ...]) -> frozenset[int]:
    """Return the positions of the callers of the frame's function that never enter `arms`.

    Empty if all are excluded.
    """
    function = frame.function
    decided = tuple(arm for arm in arms if arm.flag is not None and keeps_flag(function, arm.flag))
    if not decided or not interpreter.follows_callers or frame.depth >= MOST_DEPTH:
        return NO_CALLERS
    key = ("kept out", id(function), decided)
    ask = partial(_find_excluded_callers, interpreter, frame, decided)
    return interpreter.evaluations.evaluate(key, ask, on_cycle=NO_CALLERS, beyond_limit=NO_CALLERS)


def _find_excluded_callers(interpreter: Interpreter, frame: CallFrame, arms: tuple[BranchArm, ...]) -> frozenset[int]:
    function = frame.function
    tests = [(test, arm.is_true) for arm in arms if (test := _test_of(function, arm.flag or "")) is not None]
    called = interpreter.caller_arguments.called(function)
    if not tests or not 1 < len(called) <= MOST_CALLERS:
        return NO_CALLERS
    found = [
        position
        for position, (caller, bound) in enumerate(called)
        if any(_truth(_CallerContext(interpreter, frame, caller, bound), test) is (not holds) for test, holds in tests)
    ]
    return frozenset(found) if len(found) < len(called) else NO_CALLERS


def _test_of(function: Function, flag: str) -> Expr | None:
    """Return the test that `flag` stands for; None for a test of an attribute."""
    name = name_in_flag(flag)
    if name is not None:
        return Compare("is", (Name(name), Const(None)))
    return Name(flag) if flag.isidentifier() else None


class _CallerContext:
    """One call of a function, with its arguments."""

    def __init__(self, interpreter: Interpreter, frame: CallFrame, caller: Caller, bound: Mapping[str, Expr]) -> None:
        self.interpreter = interpreter
        self.frame = frame
        self.caller = caller
        self.bound = bound

    def passed(self, name: str) -> Expr | None:
        """Return the argument for a parameter that is never reassigned, or its default; None if unknown."""
        function = self.frame.function
        param = function.param(name)
        if param is None or param.variadic or name in function.bindings:
            return None
        call = self.caller.site.call
        if name in self.bound:
            return self.bound[name]
        if any(isinstance(one, Star) for one in call.args) or any(word is None for word, _ in call.keywords):
            return None
        return param.default if isinstance(param.default, Const) else None


def _truth(context: _CallerContext, test: Expr, names: int = _MOST_NAMES) -> bool | None:
    """Return the truth of `test` in the call of `context`; None if unknown."""
    match test:
        case Const(bool() | None as literal):
            return bool(literal)
        case Name(name):
            passed = context.passed(name)
            if passed is not None:
                return _truth(context, passed, 0) if isinstance(passed, Const) else None
            bindings = context.frame.function.bindings.get(name, ())
            is_param = context.frame.function.param(name) is not None
            if names and len(bindings) == 1 and not bindings[0].arms and not is_param:
                return _truth(context, bindings[0].value, names - 1)
            return None
        case Compare("not", (operand,)):
            found = _truth(context, operand, names)
            return None if found is None else not found
        case Compare("is" | "is not" as op, (Name(name), Const(None))):
            passed = context.passed(name)
            if passed is None:
                return None
            is_none = is_none_at_call(context.interpreter, passed, context.caller, context.frame)
            return None if is_none is None else is_none is (op == "is")
        case Conditional(None, options, "and" | "or" as operator):
            answers = {_truth(context, option, names) for option in options}
            decisive = operator == "or"
            return decisive if decisive in answers else None if None in answers else not decisive
        case _:
            return None

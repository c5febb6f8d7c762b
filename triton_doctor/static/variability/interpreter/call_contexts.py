"""Branches of a function that certain callers never take, because their other arguments decide the tests.

With `if mask is not None: heads, rows = q.shape` and `else: rows, heads = q.shape`, a caller that passes a mask tells
nothing about the second. The same holds for `packed = mask is not None` before, for a default, and for a literal flag.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH
from triton_doctor.static.variability.interpreter.branch_tests import readable_tests
from triton_doctor.static.variability.values.program_point import CallFrame, ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.python.function import BranchArm
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter

NO_CALLERS: frozenset[int] = frozenset()


def find_excluded_callers(interpreter: Interpreter, frame: CallFrame, arms: tuple[BranchArm, ...]) -> frozenset[int]:
    """Return the positions of the callers of the frame's function that never enter `arms`.

    Empty if all are excluded.
    """
    function = frame.function
    readable = readable_tests(function)
    decided = tuple([arm for arm in arms if arm.branch in readable]) if readable else ()
    if not decided or not interpreter.follows_callers or frame.depth >= MOST_DEPTH:
        return NO_CALLERS
    key = ("kept out", id(function), decided)
    ask = partial(_find_excluded_callers, interpreter, frame, decided)
    return interpreter.evaluations.evaluate(key, ask, on_cycle=NO_CALLERS, beyond_limit=NO_CALLERS)


def _find_excluded_callers(interpreter: Interpreter, frame: CallFrame, arms: tuple[BranchArm, ...]) -> frozenset[int]:
    called = interpreter.caller_arguments.called(frame.function)
    if not 1 < len(called) <= MOST_CALLERS:
        return NO_CALLERS
    found = [
        position
        for position, (caller, bound) in enumerate(called)
        if interpreter.tests.left_open(_entered(interpreter, frame, caller, bound), arms) is None
    ]
    return frozenset(found) if len(found) < len(called) else NO_CALLERS


def _entered(interpreter: Interpreter, frame: CallFrame, caller: Caller, bound: Mapping[str, Expr]) -> CallFrame:
    """Return a frame of the function of `frame`, entered from `caller` with the arguments `bound`."""
    site = caller.site
    point = ProgramPoint(interpreter.frame(caller.module, caller.function, frame.depth + 1), site.order, site.arms)
    arguments = {name: partial(interpreter.value, arg, point) for name, arg in bound.items()}
    return CallFrame(frame.module, frame.function, arguments, frame.depth + 1, site.call)

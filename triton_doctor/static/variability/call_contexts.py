"""Arms of a function to the callers that never come there: what else they pass decides the tests around it.

`if mask is not None: heads, rows = q.shape`, `else: rows, heads = q.shape`: a caller with a mask says nothing of the
second. So does `packed = mask is not None` before, a default that the caller leaves, and a flag that it writes out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH
from triton_doctor.static.variability.branch_tests import readable_tests
from triton_doctor.static.variability.program_point import CallFrame, ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.python.function import BranchArm
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter import Interpreter

NOBODY: frozenset[int] = frozenset()


def callers_kept_out(interpreter: Interpreter, frame: CallFrame, arms: tuple[BranchArm, ...]) -> frozenset[int]:
    """The positions of those callers of the function of `frame` that do not come into `arms`; none where all do not."""
    function = frame.function
    readable = readable_tests(function)
    decided = tuple([arm for arm in arms if arm.branch in readable]) if readable else ()
    if not decided or not interpreter.asks or frame.depth >= MOST_DEPTH:
        return NOBODY
    key = ("kept out", id(function), decided)
    ask = partial(_kept_out, interpreter, frame, decided)
    return interpreter.evaluations.answer(key, ask, neutral=NOBODY, beyond=NOBODY)


def _kept_out(interpreter: Interpreter, frame: CallFrame, arms: tuple[BranchArm, ...]) -> frozenset[int]:
    called = interpreter.asked.called(frame.function)
    if not 1 < len(called) <= MOST_CALLERS:
        return NOBODY
    found = [
        position
        for position, (caller, bound) in enumerate(called)
        if interpreter.tests.left_open(_entered(interpreter, frame, caller, bound), arms) is None
    ]
    return frozenset(found) if len(found) < len(called) else NOBODY


def _entered(interpreter: Interpreter, frame: CallFrame, caller: Caller, bound: Mapping[str, Expr]) -> CallFrame:
    """The function of `frame`, entered from `caller`, which passes `bound`."""
    site = caller.site
    point = ProgramPoint(interpreter.frame(caller.module, caller.function, frame.depth + 1), site.order, site.arms)
    arguments = {name: partial(interpreter.value, arg, point) for name, arg in bound.items()}
    return CallFrame(frame.module, frame.function, arguments, frame.depth + 1, site.call)

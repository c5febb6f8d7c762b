"""Decides tests of branches by literals, by the call that entered the frame, or by all callers.

`METHOD = 1` closes `if METHOD == 2:`, and a caller that passes `layout="bshd"` does not come to `if layout == "thd":`.
"""

from __future__ import annotations

import operator
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import Attr, Compare, Conditional, Const, Name, TupleExpr
from triton_doctor.static.python.reaching_definitions import ReachingDefinitions, reaching_definitions
from triton_doctor.static.variability.interpreter.known_literals import KnownLiterals
from triton_doctor.static.variability.interpreter.nullness import is_none, is_none_there
from triton_doctor.static.variability.values.program_point import ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from triton_doctor.static.python.function import BranchArm, BranchTest, Function, HostParam
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.interpreter.known_literals import Literals
    from triton_doctor.static.variability.values.program_point import CallFrame

_COMPARISONS: Mapping[str, Callable[[object, object], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "is": lambda one, other: type(one) is type(other) and one == other,
    "is not": lambda one, other: type(one) is not type(other) or one != other,
}


class BranchTests:
    """Decides tests of branches. With `follows_callers`, parameters count as what all callers pass."""

    def __init__(self, interpreter: Interpreter, *, follows_callers: bool) -> None:
        """Start with empty caches."""
        self._interpreter = interpreter
        self._follows_callers = follows_callers
        self._literals = KnownLiterals(interpreter, self, follows_callers=follows_callers)

    def passed(self, param: HostParam, frame: CallFrame) -> Literals:
        """Return the literals that callers pass or leave for `param` of the frame's function; None if others."""
        key = ("passed", id(param), self._follows_callers and frame.depth < MOST_DEPTH)
        ask = partial(self._literals.passed, param, frame)
        return self._interpreter.evaluations.evaluate(key, ask, on_cycle=None, beyond_limit=None)

    def narrowed(self, found: ReachingDefinitions, name: str, point: ProgramPoint) -> ReachingDefinitions:
        """Return the assignments in `found` of `name` whose arms the frame of `point` may enter."""
        if not found.bindings or (found.certain and len(found.bindings) == 1):
            return found
        function = point.frame.function
        readable = readable_tests(function)
        if not any(arm.branch in readable for one in found.bindings for arm in one.arms):
            return found
        return reaching_definitions(function, name, point.order, point.arms, partial(self.left_open, point.frame))

    def left_open(self, frame: CallFrame, arms: tuple[BranchArm, ...]) -> tuple[BranchArm, ...] | None:
        """Return the undecided ones of `arms`; None if `frame` never enters one of them."""
        readable = readable_tests(frame.function)
        kept: list[BranchArm] = []
        for arm in arms:
            test = readable.get(arm.branch)
            found = self.outcome(arm.branch, frame) if test is not None else None
            if found is None:
                kept.append(arm)
            elif found is not (arm.side == 0):
                return None
        return tuple(kept)

    def closing(self, order: int, arms: tuple[BranchArm, ...], frame: CallFrame) -> int | None:
        """Return the branch whose test keeps `frame` from the event `order` inside `arms`; None if it may get there."""
        readable = readable_tests(frame.function)
        if not readable:
            return None
        sides = {arm.branch: arm.side for arm in arms}
        for branch, test in readable.items():
            side = sides.get(branch)
            if side is None and not (test.leaves and test.order < order and set(test.arms) <= set(arms)):
                continue
            found = self.outcome(branch, frame)
            if found is not None and found is not (side == 0):
                return branch
        return None

    def outcome(self, branch: int, frame: CallFrame) -> bool | None:
        """Return whether the test of `branch` holds in `frame`; None if unknown."""
        truths = frame.truths
        if frame.arguments is not None and truths is not None and branch in truths:
            return truths[branch]
        test = readable_tests(frame.function)[branch]
        point = ProgramPoint(frame, test.order, test.arms)
        if frame.arguments is not None:
            if truths is None:
                truths = frame.truths = {}
            truths[branch] = None  # for a test that rests on itself
            truths[branch] = self.truth(test.test, point)
            return truths[branch]
        key = (id(test), self._follows_callers and frame.depth < MOST_DEPTH)
        return self._interpreter.evaluations.evaluate(
            key, partial(self.truth, test.test, point), on_cycle=None, beyond_limit=None
        )

    def truth(self, test: Expr, point: ProgramPoint) -> bool | None:
        """Return the truth of `test` at `point`; None if unknown."""
        match test:
            case Compare("not", (operand,)):
                found = self.truth(operand, point)
                return None if found is None else not found
            case Compare("is" | "is not" as op, (Name(name), Const(None))):
                found = self._is_none(name, point)
                return None if found is None else found is (op == "is")
            case Compare("is" | "is not" as op, (Attr(Name("self"), _) as attribute, Const(None))):
                found = is_none_there(self._interpreter, attribute, point)
                return None if found is None else found is (op == "is")
            case Compare(op, (left, right)):
                return self._compared(op, left, right, point)
            case Conditional(None, options, "and" | "or" as joined):
                answers = {self.truth(option, point) for option in options}
                decisive = joined == "or"
                return decisive if decisive in answers else None if None in answers else not decisive
            case Name() | Const() | Conditional():
                literals = self._literals.of(test, point)
                return None if literals is None else _agreed(bool(one) for one in literals)
            case _:
                return None

    def _compared(self, op: str, left: Expr, right: Expr, point: ProgramPoint) -> bool | None:
        options = right.items if isinstance(right, TupleExpr) and op in ("in", "not in") else (right,)
        compare = _COMPARISONS.get("==" if len(options) != 1 or options[0] is not right else op)
        if compare is None:
            return None
        one = self._literals.of(left, point)
        others = [self._literals.of(option, point) for option in options] if one is not None else [None]
        if one is None or any(other is None for other in others):
            return None
        found = _agreed(
            any(compare(value, other) for other in chosen)
            for value, *chosen in product(one, *(other or () for other in others))
        )
        return found if found is None or op != "not in" else not found

    def _is_none(self, name: str, point: ProgramPoint) -> bool | None:
        frame = point.frame
        if frame.arguments is not None:
            passed = frame.arguments.get(name)
            if isinstance(passed, partial) and name not in frame.function.text.contents.bindings:
                return (
                    is_none_there(self._interpreter, *passed.args) if passed.func == self._interpreter.value else None
                )
            return is_none(self._interpreter, name, point)
        literals = self._literals.of(Name(name), point)
        return None if literals is None else _agreed(one is None for one in literals)


@cached_in_scan()
def readable_tests(function: Function) -> Mapping[int, BranchTest]:
    """Return the tests of `function` that compare names with literals or use them as flags, by branch."""
    return {branch: test for branch, test in function.text.contents.tests.items() if _is_readable(test.test, function)}


def _is_readable(test: Expr, function: Function) -> bool:
    match test:
        case Name(name) | Compare(_, (Name(name), Const() | TupleExpr())):
            bindings = function.text.contents.bindings.get(name, ())
            return all(isinstance(one.value, Const | Name | Compare | Conditional) for one in bindings)
        case Compare("not", (operand,)):
            return _is_readable(operand, function)
        case Conditional(None, options):
            return any(_is_readable(option, function) for option in options)
        case _:
            return False


def _agreed(answers: Iterator[bool]) -> bool | None:
    different = set(answers)
    return different.pop() if len(different) == 1 else None

"""Decides tests of branches by literals, the call that entered the frame, or all callers; whether a name is None.

`METHOD = 1` closes `if METHOD == 2:`, and a caller that passes `layout="bshd"` does not come to `if layout == "thd":`.
"""

from __future__ import annotations

import operator
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
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
from triton_doctor.static.variability.interpreter.known_literals import KnownLiterals, passes_more
from triton_doctor.static.variability.models.torch import (
    ALLOCATING,
    KEEPING,
    LIKE,
    METHODS,
    NEW,
)
from triton_doctor.static.variability.values.values import Context, ProgramPoint

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Iterable,
        Iterator,
        Mapping,
    )

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.python.function import (
        BranchArm,
        BranchTest,
        Function,
        HostParam,
    )
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.interpreter.known_literals import Literals
    from triton_doctor.static.variability.values.values import CallFrame

_COMPARISONS: Mapping[str, Callable[[object, object], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "is": lambda value, other: type(value) is type(other) and value == other,
    "is not": lambda value, other: type(value) is not type(other) or value != other,
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
        evaluation = partial(self._literals.passed, param, frame)
        return self._interpreter.evaluations.evaluate(key, evaluation, on_cycle=None, beyond_limit=None)

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
                return None if literals is None else _agreed(bool(literal) for literal in literals)
            case _:
                return None

    def _compared(self, op: str, left: Expr, right: Expr, point: ProgramPoint) -> bool | None:
        options = right.items if isinstance(right, TupleExpr) and op in ("in", "not in") else (right,)
        compare = _COMPARISONS.get("==" if len(options) != 1 or options[0] is not right else op)
        if compare is None:
            return None
        left_literals = self._literals.of(left, point)
        others = [self._literals.of(option, point) for option in options] if left_literals is not None else [None]
        if left_literals is None or any(other is None for other in others):
            return None
        found = _agreed(
            any(compare(value, other) for other in chosen)
            for value, *chosen in product(left_literals, *(other or () for other in others))
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
        return None if literals is None else _agreed(literal is None for literal in literals)


@cached_in_scan()
def readable_tests(function: Function) -> Mapping[int, BranchTest]:
    """Return the tests of `function` that compare names with literals or use them as flags, by branch."""
    return {branch: test for branch, test in function.text.contents.tests.items() if _is_readable(test.test, function)}


def _is_readable(test: Expr, function: Function) -> bool:
    match test:
        case Name(name) | Compare(_, (Name(name), Const() | TupleExpr())):
            bindings = function.text.contents.bindings.get(name, ())
            return all(isinstance(binding.value, Const | Name | Compare | Conditional) for binding in bindings)
        case Compare("not", (operand,)):
            return _is_readable(operand, function)
        case Conditional(None, options):
            return any(_is_readable(option, function) for option in options)
        case _:
            return False


def _agreed(answers: Iterator[bool]) -> bool | None:
    different = set(answers)
    return different.pop() if len(different) == 1 else None


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
        is_none_there(interpreter, binding.value, ProgramPoint(point.frame, binding.order, binding.arms))
        for binding in found.bindings
    ]
    if not found.certain:
        param = function.param(name)
        answers.append(_is_passed_none(interpreter, param, point.frame) if param is not None else None)
    return _agreed_by_callers(answers)


def is_likely_given(interpreter: Interpreter, name: str, point: ProgramPoint) -> bool:
    """Return whether `name` is not None at `point`, or whatever the program passes for it is read from an object.

    `run(x, lengths=batch.lengths)`: a caller that passes it along has it in some of its calls.
    """
    known = is_none(interpreter, name, point)
    if known is not None:
        return not known
    frame = point.frame
    found = reaching_definitions(frame.function, name, point.order, point.arms)
    if not all(
        _gives(interpreter, binding.value, ProgramPoint(frame, binding.order, binding.arms))
        for binding in found.bindings
    ):
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
    if param.variadic or frame.depth >= MOST_DEPTH:
        return False
    key = ("likely passed", id(frame.function), param.name)
    evaluation = partial(_is_likely_passed_by_callers, interpreter, param, frame)
    return interpreter.evaluations.evaluate(key, evaluation, on_cycle=False, beyond_limit=False)


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


def _agreed_by_callers(answers: Iterable[bool | None]) -> bool | None:
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
            return _agreed_by_callers([is_none_there(interpreter, option, point) for option in possible])
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
    return _agreed_by_callers(answers)


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
    if frame.depth >= MOST_DEPTH:
        return False if _is_distinguished(param, frame.function) else None
    key = ("passed None", id(frame.function), param.name)
    evaluation = partial(_is_none_for_callers, interpreter, param, frame)
    return interpreter.evaluations.evaluate(key, evaluation, on_cycle=None, beyond_limit=None)


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
    found = _agreed_by_callers(answers)
    return False if found is None and True not in answers and _is_distinguished(param, frame.function) else found


def is_none_at_call(interpreter: Interpreter, arg: Expr, caller: Caller, frame: CallFrame) -> bool | None:
    """Return whether `arg`, which `caller` passes to the frame's function, is None; None if unknown."""
    inner = interpreter.frame(caller.module, caller.function, frame.depth + 1)
    return is_none_there(interpreter, arg, ProgramPoint(inner, caller.site.order, caller.site.arms))


def _is_distinguished(param: HostParam, function: Function) -> bool:
    """Return whether the annotation of `param` excludes None, in a signature whose other annotations include it."""
    if param.default is not None or param.allows_none:
        return False
    return any(parameter.annotation is not None and parameter.allows_none for parameter in function.params)


def _by_default(param: HostParam) -> bool | None:
    return None if param.default is None else param.default == Const(None)

"""A condition in a live frame, solved: the changes of a call under which it would be true, or false."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

import torch

from triton_doctor.explore.child.call_frames import OUTSIDE, UNKNOWN, LiveFrame, NotEvaluated, frame_at
from triton_doctor.explore.child.changes import StateChanges
from triton_doctor.explore.child.running_source import assigned_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

    from triton_doctor.explore.child.call_frames import Tracker

DEEPEST = 6
# Of an `in`, or of `all(... for each in ...)`.
MOST_OPTIONS = 8
OPPOSITES = {ast.NotEq: ast.Eq, ast.NotIn: ast.In, ast.IsNot: ast.Is}
KINDS_BY_CLASS = {
    "Tensor": "tensor",
    "int": "int",
    "list": "list",
    "tuple": "list",
    "float": "float",
    "str": "str",
    "bool": "bool",
}


class Solver:
    """Adds to `changes` what would make conditions hold."""

    def __init__(self, changes: StateChanges, tracker: Tracker, is_inside: Callable[[str], bool]) -> None:
        self.changes, self._tracker, self._is_inside = changes, tracker, is_inside

    def path_of(self, node: ast.AST, frame: LiveFrame) -> str | None:
        """Return the argument that `node` is."""
        return self._tracker.path_of(node, frame)

    def solve(self, node: ast.expr, wanted: bool, frame: LiveFrame, depth: int = 0) -> None:
        """Add the changes under which `node` is true, or false, as wanted."""
        if depth > DEEPEST:
            return
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.solve(operand, not wanted, frame, depth + 1)
            case ast.BoolOp(op=operator, values=values):
                failing = [value for value in values if truth_of(frame.evaluate(value)) is not wanted]
                if isinstance(operator, ast.And) is wanted and len(failing) > 1:
                    self._solve_together(failing, wanted, frame, depth)
                for each in failing:
                    self.solve(each, wanted, frame, depth + 1)
            case ast.Compare(ops=[_, _, *_]):
                lefts = [node.left, *node.comparators]
                for left, operator, other in zip(lefts, node.ops, node.comparators, strict=False):
                    self.solve(ast.Compare(left, [operator], [other]), wanted, frame, depth + 1)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                self._compare(left, operator, right, wanted, frame)
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes]):
                path = self.path_of(subject, frame)
                if wanted:
                    text = ast.unparse(classes)
                    self.changes.make(path, *(kind for word, kind in KINDS_BY_CLASS.items() if word in text))
                else:
                    self.changes.make(path, "tensor", "int")
            case ast.Call(func=ast.Attribute(value=subject, attr="is_floating_point")):
                self.changes.set_dtype(self.path_of(subject, frame), torch.float32 if wanted else torch.int64)
            case ast.Call():
                self._solve_call(node, wanted, frame, depth)
            case _:
                self._set_truth(node, wanted, frame)

    def _solve_together(self, nodes: list[ast.expr], wanted: bool, frame: LiveFrame, depth: int) -> None:
        """Add one call in which all `nodes` are as wanted, each by what seems likeliest."""
        state = self.changes.state
        for node in nodes:
            changes = StateChanges(state, self.changes.guesser)
            Solver(changes, self._tracker, self._is_inside).solve(node, wanted, frame, depth + 1)
            state = next(iter(changes.states), state)
        if state is not self.changes.state:
            self.changes.states.append(state)

    def _set_truth(self, node: ast.expr, wanted: bool, frame: LiveFrame) -> None:
        """Set a flag, or something that is None or not."""
        path = self.path_of(node, frame)
        if path is None:
            value = frame.evaluate(node)
            if type(value) is int and isinstance(node, ast.BinOp):
                self._equal(node, ast.Constant(value=0), value, 0, frame, is_wanted=not wanted)
            return
        self.changes.set_value(path, wanted)
        if wanted:
            self.changes.make(path, "tensor")

    def _solve_call(self, node: ast.Call, wanted: bool, frame: LiveFrame, depth: int) -> None:
        """Solve the test that decides what a function of the project returns."""
        inner = self._trace_return(node, frame)
        if inner is None:
            return
        statements = inner.statements
        last = statements[-1] if statements else None
        if not isinstance(last, ast.Return) or last.value is None:
            return
        if not isinstance(last.value, ast.Constant):
            self.solve(last.value, wanted, inner, depth + 1)
            return
        tests = [statement for statement in statements if isinstance(statement, ast.If)]
        for test in reversed(tests):
            self.solve(test.test, not _is_in_body(test, inner.line), inner, depth + 1)
        if not tests and inner.function is not None:
            for earlier in inner.function.body:  # type: ignore[attr-defined]
                if isinstance(earlier, ast.If) and (earlier.end_lineno or 0) < inner.line:
                    self.solve(earlier.test, True, inner, depth + 1)

    def _trace_return(self, node: ast.Call, frame: LiveFrame) -> LiveFrame | None:
        """Evaluate a call, and return the frame of the project's function that it calls, at its return."""
        found: list[LiveFrame] = []

        def in_function(running: FrameType, event: str, _: Any) -> Any:
            if event == "return":
                traced = frame_at(running, self._is_inside)
                if traced is not None:
                    traced.caller = frame
                    found.append(traced)
            return in_function

        def trace(running: FrameType, event: str, _: Any) -> Any:
            above = running.f_back
            is_called = above is not None and above.f_code.co_filename == OUTSIDE
            return in_function if is_called and self._is_inside(running.f_code.co_filename) else None

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            frame.evaluate(node)
        finally:
            sys.settrace(before)
        return found[-1] if found else None

    def rank_subject(self, node: ast.AST, frame: LiveFrame) -> str | None:
        """Return `x` of `x.dim()`, `x.ndim`, `len(x.shape)`."""
        match node:
            case ast.Call(func=ast.Attribute(value=subject, attr="dim" | "ndimension"), args=[]):
                return self.path_of(subject, frame)
            case ast.Attribute(value=subject, attr="ndim"):
                return self.path_of(subject, frame)
            case ast.Call(func=ast.Name(id="len"), args=[inner]):
                shaped = shape_subject(inner)
                return None if shaped is None else self.path_of(shaped, frame)
            case _:
                return None

    def _compare(self, left: ast.expr, operator: ast.cmpop, right: ast.expr, wanted: bool, frame: LiveFrame) -> None:
        opposite = OPPOSITES.get(type(operator))
        if opposite is not None:
            operator, wanted = opposite(), not wanted
        first, second = frame.evaluate(left), frame.evaluate(right)
        if isinstance(operator, ast.Is) or (isinstance(operator, ast.Eq) and second is None):
            if second is None:
                kinds = ("none",) if wanted else ("tensor", "int")
                self.changes.make(self.path_of(left, frame), *kinds)
            elif isinstance(second, bool):
                self.changes.set_value(self.path_of(left, frame), second == wanted)
            return
        for subject, other in ((left, second), (right, first)):
            path = self.rank_subject(subject, frame)
            if path is not None:
                self._compare_rank(path, operator, other, wanted, subject is left)
                return
        if isinstance(operator, ast.In):
            for option in _options(second) if wanted else ():
                self.set_value(left, first, option, frame)
        elif isinstance(operator, ast.Eq):
            self._compare_equal(left, right, first, second, wanted, frame)
        elif isinstance(first, int | float) and isinstance(second, int | float):
            self._order(left, operator, right, int(first), int(second), wanted, frame)

    def _compare_rank(self, path: str, operator: ast.cmpop, other: Any, wanted: bool, is_left: bool) -> None:
        if isinstance(operator, ast.In):
            for rank in _options(other) if wanted else ():
                self.changes.set_rank(path, rank)
        elif isinstance(other, int):
            if isinstance(operator, ast.Eq):
                for rank in (other,) if wanted else (other + 1, other - 1):
                    self.changes.set_rank(path, rank)
            else:
                is_greater = isinstance(operator, ast.Gt | ast.GtE) == (is_left == wanted)
                is_strict = isinstance(operator, ast.Gt | ast.Lt) == wanted
                self.changes.set_rank(path, other + (is_strict if is_greater else -is_strict))

    def _compare_equal(
        self, left: ast.expr, right: ast.expr, first: Any, second: Any, wanted: bool, frame: LiveFrame
    ) -> None:
        if isinstance(first, torch.dtype) or isinstance(second, torch.dtype):
            if wanted:
                for node, other in ((left, second), (right, first)):
                    if isinstance(other, torch.dtype):
                        subject = node.value if isinstance(node, ast.Attribute) and node.attr == "dtype" else node
                        self.changes.set_dtype(self.path_of(subject, frame), other)
            else:
                self.changes.set_all_dtypes("bfloat16", "float16")
        elif isinstance(first, tuple | list) and isinstance(second, tuple | list):
            if wanted:
                self._equal_shapes(left, right, tuple(first), tuple(second), frame)
        elif type(first) is int and type(second) is int:
            self._equal(left, right, first, second, frame, is_wanted=wanted)
        elif wanted and not isinstance(second, NotEvaluated):
            self.set_value(left, first, second, frame)
            self.set_value(right, second, first, frame)

    def set_value(self, node: ast.expr, current: Any, value: Any, frame: LiveFrame) -> None:
        """Let the expression `node`, which is `current`, be `value`."""
        if isinstance(node, ast.Attribute) and node.attr == "dtype" and isinstance(value, torch.dtype):
            self.changes.set_dtype(self.path_of(node.value, frame), value)
            return
        if type(value) is int:
            path = self.rank_subject(node, frame)
            if path is not None:
                self.changes.set_rank(path, value)
                return
            symbols = self.changes.state.symbols_of(current)
            for symbol in symbols:
                self.changes.set_size(symbol, value)
            if symbols:
                return
        path = self.path_of(node, frame)
        if path is not None:
            self.changes.set_value(path, value)
        elif isinstance(node, ast.Call | ast.Subscript | ast.Attribute):
            # `name.lower()`, `kind.value`, `name[0]`
            inner = node.func if isinstance(node, ast.Call) else node.value
            inner = inner.value if isinstance(inner, ast.Attribute) else inner
            self.changes.set_value(self.path_of(inner, frame), value)

    def _equal(
        self, left: ast.expr, right: ast.expr, first: int, second: int, frame: LiveFrame, *, is_wanted: bool
    ) -> None:
        changes = self.changes
        if not is_wanted:
            for symbol in (*changes.state.symbols_of(first), *changes.state.symbols_of(second)):
                changes.set_size(symbol, changes.state.size(symbol) * 2)
                changes.set_size(symbol, changes.state.size(symbol) + 1)
            return
        for node, rest in ((left, second), (right, first)):
            match node:
                case ast.BinOp(op=ast.Mod(), left=number, right=divisor):
                    if isinstance(number, ast.BinOp) and isinstance(number.op, ast.Add | ast.Sub):
                        self._fill_up(number, frame.evaluate(divisor), rest, frame)
                    self._divide(frame.evaluate(number), frame.evaluate(divisor), rest)
                    return
                case ast.BinOp(op=ast.BitAnd(), left=number, right=ast.BinOp(op=ast.Sub())):
                    # A power of two: `n & (n - 1) == 0`
                    value = frame.evaluate(number)
                    for symbol in changes.state.symbols_of(value):
                        changes.set_size(symbol, 1 << max(value - 1, 0).bit_length())
                    return
        of_first, of_second = changes.state.symbols_of(first), changes.state.symbols_of(second)
        what = f"{ast.unparse(left)} == {ast.unparse(right)}"
        for item in of_first:
            for other in of_second:
                self.tie(item, other, what)
        for symbol in of_first:
            changes.set_size(symbol, second)
        for symbol in of_second:
            changes.set_size(symbol, first)
        for node, value, symbols in ((left, second, of_first), (right, first, of_second)):
            if not symbols and not isinstance(node, ast.Constant):
                self._derive(node, value, frame)

    def tie(self, first: str, other: str, what: str) -> None:
        """Unify two symbols, an int's into an axis' rather than the other way round."""
        pairs = [(first, other), (other, first)]
        if self.changes.state.is_axis(first) and not self.changes.state.is_axis(other):
            pairs.reverse()
        for symbol, kept in pairs:
            self.changes.unify(symbol, kept, provenance="unknown", what=what)

    def _divide(self, number: Any, divisor: Any, rest: int) -> None:
        """Let `number % divisor == rest`."""
        changes = self.changes
        if type(number) is not int or type(divisor) is not int or divisor <= 0:
            return
        for symbol in changes.state.symbols_of(number):
            changes.set_size(symbol, -(-number // divisor) * divisor + rest)
            changes.set_size(symbol, divisor * 4 + rest)
        for symbol in changes.state.symbols_of(divisor):
            smaller = next((each for each in (divisor // 2, 16, 8, 4, 2, 1) if each and number % each == rest), None)
            changes.set_size(symbol, smaller)

    def _fill_up(self, number: ast.BinOp, divisor: Any, rest: int, frame: LiveFrame) -> None:
        """Enlarge a in `(a - b) % divisor == rest`."""
        value = frame.evaluate(number)
        if type(value) is int and type(divisor) is int and divisor > 0:
            for symbol in self.changes.state.symbols_of(frame.evaluate(number.left)):
                self.changes.set_size(symbol, self.changes.state.size(symbol) + (rest - value) % divisor)

    def _order(
        self,
        left: ast.expr,
        operator: ast.cmpop,
        right: ast.expr,
        first: int,
        second: int,
        wanted: bool,
        frame: LiveFrame,
    ) -> None:
        for node in (left, right):
            parts = self._extremes(node, frame)
            for part in parts:
                sides = (part, right) if node is left else (left, part)
                item, other = map(frame.evaluate, sides)
                if type(item) is int and type(other) is int:
                    self._order(sides[0], operator, sides[1], item, other, wanted, frame)
            if parts:
                return
        is_less = isinstance(operator, ast.Lt | ast.LtE) == wanted
        is_strict = isinstance(operator, ast.Lt | ast.Gt) == wanted
        for node, value, bound in (
            (left, first, second - is_strict if is_less else second + is_strict),
            (right, second, first + is_strict if is_less else first - is_strict),
        ):
            symbols = self.changes.state.symbols_of(value)
            for symbol in symbols:
                self.changes.set_size(symbol, bound)
            if not symbols and not isinstance(node, ast.Constant):
                self._derive(node, bound, frame)

    def _extremes(self, node: ast.expr, frame: LiveFrame) -> list[ast.expr]:
        """Return the arguments of `min(...)` or `max(...)`, also beneath a name; any may decide a comparison."""
        if isinstance(node, ast.Name) and frame.function is not None:
            node = next(iter(assigned_values(frame.function, node.id, frame.line)), node)
        is_extreme = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max")
        return node.args if is_extreme and isinstance(node, ast.Call) else []

    def _derive(self, node: ast.expr, wanted: int, frame: LiveFrame) -> None:
        """Change the parts of `a // b`, `a * b`, `max(a, b)`."""
        value = frame.evaluate(node)
        match node:
            case ast.Name() if frame.function is not None and value is not UNKNOWN:
                for assigned in assigned_values(frame.function, node.id, frame.line)[:1]:
                    if not isinstance(assigned, ast.Name) and frame.evaluate(assigned) == value:
                        self._derive(assigned, wanted, frame)
            case _:
                pass
        path = self.path_of(node, frame)
        if path is not None:
            self.changes.set_value(path, wanted)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name | ast.Subscript | ast.Attribute):
                for symbol in self.changes.state.symbols_of(frame.evaluate(inner)):
                    size = self.changes.state.size(symbol)
                    for changed in (size * 2, size // 2):
                        self.changes.set_size(symbol, max(1, changed))

    def _equal_shapes(
        self, left: ast.expr, right: ast.expr, first: tuple[Any, ...], second: tuple[Any, ...], frame: LiveFrame
    ) -> None:
        changes, state = self.changes, self.changes.state
        paths = []
        for node in (left, right):
            subject = shape_subject(node)
            paths.append(None if subject is None else self.path_of(subject, frame))
        if len(first) != len(second):
            changes.set_rank(paths[0], len(second))
            changes.set_rank(paths[1], len(first))
            return
        is_changed = False
        for path, other_path, current, wanted in (
            (paths[0], paths[1], first, second),
            (paths[1], paths[0], second, first),
        ):
            spec = state.specs.get(path or "")
            if path is None or spec is None or spec.kind != "tensor" or len(spec.axes) != len(current):
                continue
            other = state.specs.get(other_path or "")
            axes, sizes = list(spec.axes), {}
            for index, (size, needed) in enumerate(zip(current, wanted, strict=True)):
                if size != needed:
                    symbols = state.symbols_of(needed)
                    if other is not None and len(other.axes) == len(axes):
                        axes[index] = other.axes[index]
                    elif symbols:
                        axes[index] = symbols[0]
                    elif type(needed) is int:
                        axes[index] = f"{path}.{index}"
                        sizes[axes[index]] = needed
            changes.set_axes(path, tuple(axes), sizes)
            is_changed = True
        if not is_changed:
            for size, needed in zip(first, second, strict=True):
                if size != needed and type(size) is int and type(needed) is int:
                    self._equal(left, right, size, needed, frame, is_wanted=True)


def shape_subject(node: ast.AST) -> ast.expr | None:
    """Return `x` of `x.shape` and `x.size()`."""
    match node:
        case (
            ast.Attribute(value=subject, attr="shape")
            | ast.Call(func=ast.Attribute(value=subject, attr="size"), args=[])
        ):
            return subject
        case _:
            return None


def tests_around(frame: LiveFrame) -> list[tuple[ast.If, bool]]:
    """Return the tests that the line of `frame` is in, the innermost first, and whether it is in their body."""
    tests = [statement for statement in frame.statements if isinstance(statement, ast.If)]
    return [(test, _is_in_body(test, frame.line)) for test in reversed(tests)]


def _is_in_body(test: ast.If, line: int) -> bool:
    return any(statement.lineno <= line <= (statement.end_lineno or statement.lineno) for statement in test.body)


def truth_of(value: Any) -> bool | None:
    """Return whether `value` is true, None where it is not known."""
    if value is UNKNOWN:
        return None
    try:
        return bool(value)
    except Exception:  # a tensor of several elements
        return None


def _options(value: Any) -> Iterable[Any]:
    try:
        return list(value)[:MOST_OPTIONS]
    except Exception:  # no iterable
        return ()

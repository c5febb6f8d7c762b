"""What an exception teaches: from the failing statement, evaluated in its live frame, to changed calls."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import torch

from triton_doctor.explore.child.call_frames import UNKNOWN, LiveFrame, Tracker, frames_of
from triton_doctor.explore.child.changes import StateChanges
from triton_doctor.explore.child.solver import Solver, shape_subject, tests_around

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.explore.child.calling import Seen
    from triton_doctor.explore.child.guesses import Guesser
    from triton_doctor.explore.child.state import State
    from triton_doctor.explore.child.target import Target

# Numbers of a message that are compared with sizes.
MOST_NUMBERS = 8
FEW = 3
NUMBER = re.compile(r"(?<![\w.])(\d+)(?![\w.]*[a-zA-Z])|(?<=\dx)(\d+)\b|\b(\d+)(?=x\d)")
# Messages that say which two sizes must be equal.
PAIRS = (
    re.compile(r"same reduction dim, but got \[\d+, (\d+)\] X \[(\d+), \d+\]"),
    re.compile(r"cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)"),
    re.compile(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)"),
    re.compile(r"to have (\d+) channels, but got (\d+) channels"),
    re.compile(
        r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), \d+\] but got: \[(\d+), \d+\]"
    ),
    re.compile(
        r"Expected size for first two dimensions of batch2 tensor to be: \[\d+, (\d+)\] but got: \[\d+, (\d+)\]"
    ),
)
TENSOR_METHODS = frozenset(dir(torch.Tensor)) - frozenset(dir(object))


def repair(target: Target, seen: Seen, guesser: Guesser) -> list[State]:
    """Return the calls that may get further than `seen`, which raised, the likeliest first."""
    return Repair(target, seen, guesser).states()


class Repair:
    """One exception and where it was raised."""

    def __init__(self, target: Target, seen: Seen, guesser: Guesser) -> None:
        assert seen.error is not None
        self.error, self.text = seen.error, " ".join(str(seen.error).split())
        self.state, self.built = seen.built.state, seen.built
        self.changes = StateChanges(self.state, guesser)
        self.tracker = Tracker(target, seen.built)
        self.solver = Solver(self.changes, self.tracker, guesser.notes.is_inside)
        self.frames = frames_of(seen.traceback, guesser.notes.is_inside)

    def states(self) -> list[State]:
        """Return the changed calls."""
        self._gradient()
        if not self.frames:
            self._arguments()
            self._numbers(None)
            return self.changes.states
        frame = self.frames[-1]
        match self.error:
            case AssertionError():
                self._conditions(frame)
            case AttributeError():
                self._attribute(frame)
            case TypeError():
                self._type(frame)
            case _:
                pass
        self._conditions(frame)
        self._unpack(frame)
        self._view(frame)
        self._numbers(frame)
        if len(self.changes.states) < FEW:
            self._other_kinds(frame)
        return self.changes.states

    # What the statement says

    def _conditions(self, frame: LiveFrame) -> None:
        """Solve an `assert`, or an `if` around a `raise`."""
        statements = frame.statements
        last = statements[-1] if statements else None
        if isinstance(last, ast.Assert) and isinstance(self.error, AssertionError):
            if not self.changes.states:
                self.solver.solve(last.test, True, frame)
        elif isinstance(last, ast.Raise) and not self.changes.states:
            for test, is_in_body in tests_around(frame):
                self.solver.solve(test.test, not is_in_body, frame)
            if not tests_around(frame) and frame.function is not None:
                # A `raise` at the end, after tests that return.
                for earlier in frame.function.body:  # type: ignore[attr-defined]
                    if isinstance(earlier, ast.If) and (earlier.end_lineno or 0) < frame.line:
                        self.solver.solve(earlier.test, True, frame)

    def _unpack(self, frame: LiveFrame) -> None:
        """Give a tensor the rank that `batch, length = x.shape` needs."""
        if "unpack" not in self.text:
            return
        numbers = re.search(r"expected (?:at least )?(\d+)", self.text)
        wanted = int(numbers.group(1)) if numbers else 0
        for node in ast.walk(frame.statement):
            if isinstance(node, ast.Assign):
                before = len(self.changes.states)
                for inner in ast.walk(node.value):
                    subject = shape_subject(inner)
                    path = None if subject is None else self.tracker.path_of(subject, frame)
                    if path is not None and path in self.state.specs and wanted:
                        offset = _start_of_slice(node.value)
                        value = frame.evaluate(subject) if subject is not None else UNKNOWN
                        rank = len(self.state.specs[path].axes)
                        missing = rank - value.dim() if isinstance(value, torch.Tensor) else 0
                        self.changes.set_rank(path, wanted + offset + missing)
                value = frame.evaluate(node.value)
                path = self.tracker.path_of(node.value, frame)
                if len(self.changes.states) == before and path in self.state.specs and path is not None:
                    spec = self.state.specs[path]
                    if isinstance(value, torch.Tensor | list | tuple) and spec.axes:
                        self.changes.set_size(spec.axes[0], wanted)
                    self.changes.make(path, "tensor", "list")

    def _attribute(self, frame: LiveFrame) -> None:
        """Make a tensor of what has no `x.shape`, a config of what has no `cfg.heads`."""
        found = re.search(r"'([\w.]+)' object has no attribute '(\w+)'", self.text)
        if not found:
            return
        kind, name = found.groups()
        for node in ast.walk(frame.statement):
            if not isinstance(node, ast.Attribute) or node.attr != name:
                continue
            value, path = frame.evaluate(node.value), self.tracker.path_of(node.value, frame)
            if type(value).__name__ != kind.rpartition(".")[2] or path is None:
                continue
            is_tensor = name in TENSOR_METHODS
            if isinstance(value, torch.Tensor):
                self.changes.make(path, "config", "int", "none")
            elif is_tensor:
                self.changes.make(path, "tensor")
            else:
                self.changes.make(path, "config", "tensor")

    def _type(self, frame: LiveFrame) -> None:
        """Make an argument of another kind."""
        for node in ast.walk(frame.statement):
            if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
                continue
            value, path = frame.evaluate(node), self.tracker.path_of(node, frame)
            if path not in self.state.specs or path is None:
                continue
            if value is None:
                is_called = any(isinstance(each, ast.Call) and each.func is node for each in ast.walk(frame.statement))
                self.changes.make(path, *(["callable"] if is_called else []), "int", "tensor")
            elif isinstance(value, torch.Tensor):
                if re.search("callable", self.text):
                    self.changes.make(path, "callable")
                elif re.search("int|float|bool|positional", self.text):
                    self.changes.make(path, "int", "float")
                elif "not iterable" in self.text or "0-d" in self.text:
                    self.changes.make(path, "list")
                elif "must be str" in self.text or "type str" in self.text:
                    self.changes.make(path, "str")
            elif isinstance(value, int | float) and re.search(
                r"Tensor|iterable|subscriptable|len\(\)|tuple", self.text
            ):
                self.changes.make(path, "tensor", "list")
            elif isinstance(value, list | tuple) and re.search("Tensor|not str", self.text):
                self.changes.make(path, "config" if "not str" in self.text else "tensor")
            elif isinstance(value, str | bool) and re.search("Tensor|unsupported operand", self.text):
                self.changes.make(path, "int", "tensor")
        self._arguments()

    # What the message says

    def _view(self, frame: LiveFrame) -> None:
        """Fit the axes of x in `x.view(b, t, h, d)` to those of another tensor."""
        if not re.search(r"is invalid for input of size|size of tensor|shape '", self.text):
            return
        for node in ast.walk(frame.statement):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            value = frame.evaluate(node.func.value)
            if node.func.attr not in ("view", "reshape", "unflatten", "expand") or not isinstance(value, torch.Tensor):
                continue
            self._like_others(self.tracker.path_of(node.func.value, frame))

    def _like_others(self, path: str | None) -> None:
        """Let a tensor have the axes of another one of its rank."""
        spec = self.state.specs.get(path or "")
        for other in list(self.state.specs.values()) if spec is not None else ():
            is_alike = other.kind == "tensor" and spec is not None and len(other.axes) == len(spec.axes)
            if path is not None and spec is not None and is_alike and other.axes != spec.axes:
                self.changes.set_axes(path, other.axes, {})

    def _numbers(self, frame: LiveFrame | None) -> None:
        """Tie two sizes in a message, or give the one what the other must be."""
        if re.search(r"unpack|out of range|dimension specified|missing|is not a valid", self.text):
            return
        for pattern in PAIRS:
            for sizes in pattern.findall(self.text):
                for each, other in zip(sizes[::2], sizes[1::2], strict=True):
                    self._equal_sizes(int(each), int(other))
        if self.changes.states:
            return
        found = [int(next(filter(None, groups))) for groups in NUMBER.findall(self.text)]
        numbers = [(number, self.state.symbols_of(number)) for number in dict.fromkeys(found)][:MOST_NUMBERS]
        known = [(number, symbols) for number, symbols in numbers if symbols]
        for index, (_, symbols) in enumerate(known):
            for _, others in known[index + 1 :]:
                for item in symbols[:FEW]:
                    for other in others[:FEW]:
                        self.solver.tie(item, other, self.text[:80])
        for number, symbols in numbers:
            if not symbols and number > 1:
                for _, others in known[:FEW]:
                    for symbol in others[:2]:
                        self.changes.set_size(symbol, number)

    def _equal_sizes(self, first: int, other: int) -> None:
        """Tie the symbols of two sizes that must be the same, or give the one what the other is."""
        symbols, others = self.state.symbols_of(first), self.state.symbols_of(other)
        for symbol in symbols if first != other else ():
            for each in others:
                self.solver.tie(symbol, each, self.text[:80])
        for known, needed in ((symbols, other), (others, first)):
            for symbol in known if not (symbols and others) and first != other else ():
                self.changes.set_size(symbol, needed)

    def _gradient(self) -> None:
        """Give an argument the shape that its gradient has."""
        found = re.search(r"invalid gradient at index (\d+) - got \[([^\]]*)\]", self.text)
        if not found:
            return
        rank = len([size for size in found.group(2).split(",") if size.strip()])
        tensors = [path for path, spec in self.state.specs.items() if spec.kind == "tensor"]
        called = [path for path in self.state.specs if "." not in path]
        index = int(found.group(1))
        for path in (*called[index : index + 1], *tensors):
            self.changes.set_rank(path, rank)

    def _arguments(self) -> None:
        """Make tensors of what save_for_backward was given."""
        found = re.search(r"can only save variables, but argument \d+ is of type (\w+)", self.text)
        if found:
            for path, spec in self.state.specs.items():
                if spec.kind in (found.group(1), "none"):
                    self.changes.make(path, "tensor")

    def _other_kinds(self, frame: LiveFrame) -> None:
        """Give the tensors of the failing line another rank; make a tensor of what is None."""
        for node in ast.walk(frame.statement):
            if not isinstance(node, ast.Name):
                continue
            path = self.tracker.path_of(node, frame)
            spec = self.state.specs.get(path or "")
            if path is None or spec is None:
                continue
            if spec.kind == "tensor":
                for rank in (len(spec.axes) + 1, len(spec.axes) - 1):
                    if 1 <= rank <= 5:
                        self.changes.set_rank(path, rank)
            elif spec.kind in ("none", "default", "int", "float", "bool"):
                self.changes.make(path, "tensor")


def where_of(seen: Seen, is_inside: Callable[[str], bool]) -> tuple[tuple[str, int], ...]:
    """Return the lines of the project that the error of `seen` went through, the innermost last."""
    return tuple((frame.path, frame.line) for frame in frames_of(seen.traceback, is_inside))


def _start_of_slice(node: ast.expr) -> int:
    """Return 2 of `x.shape[2:]`, else 0."""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Slice)
        and isinstance(node.slice.lower, ast.Constant)
    ):
        start = node.slice.lower.value
        return start if type(start) is int and start > 0 else 0
    return 0

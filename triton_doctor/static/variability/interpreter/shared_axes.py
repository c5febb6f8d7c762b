"""Axes that a function's checks require to be equal: `assert a.shape[0] == b.shape[0]`, `assert (B, T) == (B2, T2)`.

Checks in called functions count too, if they receive the arguments: `check(a, b)`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.python.ir import Name
from triton_doctor.static.variability.notes.axis_names import keeps_shape, read_axis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter

# A check that receives one tensor cannot compare two.
_LEAST_PASSED = 2
_TERM = r"([A-Za-z_]\w*)(?:\.shape\[\s*(-?\d)\s*\]|\.size\(\s*(-?\d)\s*\)|(\.shape\b(?!\[)|\.size\(\s*\)(?!\[)))?"
_NO_MORE = r"(?![\w.(\[]|\s*(?:[-+*/%<>]|\bif\b))"
_EQUAL = re.compile(rf"(?<![\w.])(?<![-+*/%] ){_TERM}{_NO_MORE}\s*(==|!=)\s*(?={_TERM}{_NO_MORE})")
_NAMES = r"(?<![\w)\]])\(\s*(\w+(?:\s*,\s*\w+)+)\s*,?\s*\)"
_EQUAL_NAMES = re.compile(rf"{_NAMES}\s*(==|!=)\s*{_NAMES}(?!\s*[\w.(\[+*])")
_BRACKETED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_CHECK = re.compile(
    r"^[ \t]*(?:assert\b|(?:\w+\.)*_check\()(?P<asserted>[^\n]*)"
    rf"|^[ \t]*if\b(?P<refused>[ \t]*{_BRACKETED}|[^\n]*):[ \t]*(?:#[^\n]*)?\n?[ \t]*(?:raise|(?P<leaves>return))\b",
    re.MULTILINE,
)
_BREAK = re.compile(r"\s+")

# A side of a comparison: a name, then the number of its axis in one of two spellings, or the whole shape.
_Term: TypeAlias = "tuple[str | None, ...]"


class NamedAxis(NamedTuple):
    """An axis of an argument; all of its axes if `position` is None."""

    tensor: str
    position: int | None


class SharedAxes(NamedTuple):
    """Two axes of arguments of one function that are equal in every call that does not fail."""

    first: NamedAxis
    other: NamedAxis

    def beside(self, tensor: str, position: int, rank: int | None) -> NamedAxis | None:
        """Return the axis that equals that of `tensor` at `position`; None if this is about other axes."""
        for own, other in ((self.first, self.other), (self.other, self.first)):
            if own.tensor != tensor:
                continue
            if own.position is None:
                return NamedAxis(other.tensor, position)
            if own.position == position or (rank is not None and (own.position - position) % rank == 0):
                return other
        return None


class AxisChecks:
    """Reads the checks of functions; cached."""

    def __init__(self, interpreter: Interpreter) -> None:
        """Start with an empty cache."""
        self._interpreter = interpreter
        self._known: dict[int, tuple[SharedAxes, ...]] = {}

    def of(self, function: Function) -> tuple[SharedAxes, ...]:
        """Return the checks of `function`, and of functions that it calls with at least two of its arguments."""
        found = self._known.get(id(function))
        if found is None:
            own = checked_axes(function, may_leave=True)
            found = self._known[id(function)] = (*own, *self._called(function))
        return found

    def _called(self, function: Function) -> Iterator[SharedAxes]:
        """Yield the checks on its arguments in the functions that `function` calls."""
        home = self._interpreter.project.names.home(function)
        names = _kept_arguments(function)
        for site in function.calls:
            passed = {arg.id for arg in site.call.args if isinstance(arg, Name)} & names
            if len(passed) < _LEAST_PASSED or site.arms:
                continue
            callee = self._interpreter.call_graph.find_callee(home, function, site.call.func)
            if callee is None or callee is function:
                continue
            own = {param: arg.id for param, arg in bind(callee, site.call).items() if isinstance(arg, Name)}
            for first, other in checked_axes(callee, may_leave=False):
                left, right = own.get(first.tensor), own.get(other.tensor)
                if left is not None and right is not None and {left, right} <= names:
                    yield SharedAxes(first._replace(tensor=left), other._replace(tensor=right))


@cached_in_scan()
def checked_axes(function: Function, *, may_leave: bool) -> tuple[SharedAxes, ...]:
    """Return the axes that `function`'s own checks compare.

    `may_leave` includes checks that return rather than fail.
    """
    return tuple(_read(function, may_leave=may_leave)) if _may_check(function) else ()


def _may_check(function: Function) -> bool:
    checks = function.holds(b"assert") or function.holds(b"_check") or function.holds(b"!=")
    return checks and (function.holds(b".shape") or function.holds(b".size"))


@cached_in_scan()
def checked_sizes(function: Function) -> tuple[tuple[str, NamedAxis], ...]:
    """Return the arguments that `function`'s own checks compare with an axis of another: `assert x.shape[0] == n`."""
    if not _may_check(function):
        return ()
    names = _kept_arguments(function)
    found = []
    for first, other in _compared(function, may_leave=True):
        for (size, *rest), groups in ((first, other), (other, first)):
            axis = _axis(function, groups) if not any(rest) and size in names else None
            if axis is not None and axis.tensor in names and axis.tensor != size and size is not None:
                found.append((size, axis))
    return tuple(found)


def _read(function: Function, *, may_leave: bool) -> Iterator[SharedAxes]:
    names = _kept_arguments(function)
    for left, right in _compared(function, may_leave=may_leave):
        first, other = _axis(function, left), _axis(function, right)
        if first is None or other is None or first == other or (first.position is None) != (other.position is None):
            continue
        if first.tensor in names and other.tensor in names:
            yield SharedAxes(first, other)


def _compared(function: Function, *, may_leave: bool) -> Iterator[tuple[_Term, _Term]]:
    """Yield both sides of each comparison that must hold for `function` to go on.

    Otherwise it fails, or returns if `may_leave`.
    """
    for check in _CHECK.finditer(function.text.text):
        text, wanted, breaks = check["asserted"], "==", " or "
        if text is None:
            text, wanted, breaks = _BREAK.sub(" ", check["refused"]), "!=", " and "
        if breaks in text or (check["leaves"] is not None and not may_leave):
            continue
        for found in _EQUAL.finditer(text):
            if found[5] != wanted:
                continue
            yield found.groups()[:4], found.groups()[5:9]
        for found in _EQUAL_NAMES.finditer(text):
            left, right = found[1].split(","), found[3].split(",")
            if found[2] == wanted and len(left) == len(right):
                for name, other in zip(left, right, strict=True):
                    yield (name.strip(), None, None, None), (other.strip(), None, None, None)


def _axis(function: Function, groups: tuple[str | None, ...]) -> NamedAxis | None:
    """Return the axis that a side of a comparison denotes: spelled out, or a name bound to one."""
    name, by_shape, by_size, whole = groups
    assert name is not None
    at = by_shape or by_size
    if at is not None or whole is not None:
        return NamedAxis(name, int(at) if at is not None else None)
    bound = function.bindings.get(name, ())
    read = read_axis(bound[0].value) if len(bound) == 1 else None
    return NamedAxis(read.tensor, read.position) if read is not None else None


def _kept_arguments(function: Function) -> frozenset[str]:
    """Return the arguments that `function` does not rebind to something of another shape."""
    return frozenset(
        param.name
        for param in function.params
        if all(keeps_shape(binding.value, param.name) for binding in function.bindings.get(param.name, ()))
    )

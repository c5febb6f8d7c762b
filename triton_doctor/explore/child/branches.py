"""Branches that a call did not take though they lead to a launch: each test is solved the other way, in its frame."""

from __future__ import annotations

import ast
import functools
import sys
from typing import TYPE_CHECKING, Any

from triton_doctor.explore.child.call_frames import LiveFrame, Tracker, frames_of
from triton_doctor.explore.child.calling import Seen, execute
from triton_doctor.explore.child.changes import StateChanges
from triton_doctor.explore.child.running_source import blocks_of, parse_file
from triton_doctor.explore.child.solver import Solver, truth_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from triton_doctor.explore.child.guesses import Guesser
    from triton_doctor.explore.child.state import State
    from triton_doctor.explore.child.target import Target

MOST_TESTS = 12
# Changes of one test.
MOST_CHANGES = 8


class _Stop(BaseException):
    """Ends a call at a test, so that the frames of its traceback can be looked at."""


def other_branches(target: Target, state: State, guesser: Guesser, leading: frozenset[str]) -> Iterator[State]:
    """Call `state` again, and yield calls that take a branch to a launch that it did not take."""
    is_inside = guesser.notes.is_inside
    missed: dict[tuple[str, int], tuple[ast.If, bool]] = {}

    def look(place: tuple[str, int], running: FrameType) -> None:
        node, is_in_body, is_in_rest = tests_of(place[0], leading).get(place[1], (None, False, False))
        if node is None or place in missed:
            return
        holds = truth_of(LiveFrame(frame=running, line=place[1], caller=None).evaluate(node.test))
        if (holds is True and is_in_rest) or (holds is False and is_in_body):
            missed[place] = node, not holds

    _call(target, state, is_inside, look)
    for place, (node, wanted) in list(missed.items())[:MOST_TESTS]:

        def stop(reached: tuple[str, int], _: FrameType, wanted_place: tuple[str, int] = place) -> None:
            if reached == wanted_place:
                raise _Stop

        # Stopped, and not solved as it runs: Python traces nothing that a trace function calls.
        seen = _call(target, state, is_inside, stop)
        frames = frames_of(seen.traceback, is_inside)
        if isinstance(seen.error, _Stop) and frames:
            changes = StateChanges(seen.built.state, guesser)
            Solver(changes, Tracker(target, seen.built), is_inside).solve(node.test, wanted, frames[-1])
            yield from changes.states[:MOST_CHANGES]


def _call(
    target: Target,
    state: State,
    is_inside: Callable[[str], bool],
    look: Callable[[tuple[str, int], FrameType], None],
) -> Seen:
    """Call `state`, and `look` at each line of the project before it runs."""

    def at_line(running: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            look((running.f_code.co_filename, running.f_lineno), running)
        return at_line

    def at_call(running: FrameType, event: str, _: Any) -> Any:
        return at_line if event == "call" and is_inside(running.f_code.co_filename) else None

    sys.settrace(at_call)
    try:
        return execute(target, state.copy(state.note))
    finally:
        sys.settrace(None)


@functools.cache
def tests_of(path: str, leading: frozenset[str]) -> dict[int, tuple[ast.If, bool, bool]]:
    """Return the tests of a file by line, each with whether its body and whether its other side lead to a launch."""
    found = {}
    for function in ast.walk(parse_file(path)):
        if isinstance(function, ast.FunctionDef):
            for block in _blocks_below(function):
                for index, node in enumerate(block):
                    if isinstance(node, ast.If):
                        leaves = isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue)
                        rest = node.orelse + (block[index + 1 :] if leaves else [])
                        in_body, in_rest = _leads(node.body, leading), _leads(rest, leading)
                        if in_body or in_rest:
                            found[node.lineno] = (node, in_body, in_rest)
    return found


def _blocks_below(function: ast.AST) -> Iterator[list[ast.stmt]]:
    for block in blocks_of(function):
        yield block
        for each in block:
            if not isinstance(each, ast.FunctionDef | ast.ClassDef):
                yield from _blocks_below(each)


def _leads(block: list[ast.stmt], leading: frozenset[str]) -> bool:
    """Return whether a block names what leads to a launch, or launches."""
    for node in (node for each in block for node in ast.walk(each)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in leading:
                return True
            case ast.Call(func=ast.Subscript()):
                return True
    return False

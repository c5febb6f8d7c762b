"""Branches that a call did not take though they lead to a launch: each test is solved the other way, in its frame."""

from __future__ import annotations

import ast
import functools
import sys
from typing import TYPE_CHECKING, Any

from triton_doctor.explore.child.calling import execute
from triton_doctor.explore.child.changes import Changes
from triton_doctor.explore.child.frames import UNKNOWN, Tracker, frame_at
from triton_doctor.explore.child.solver import Solver
from triton_doctor.explore.child.source import blocks_of, parse_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from triton_doctor.explore.child.building import Built
    from triton_doctor.explore.child.guesses import Guesser
    from triton_doctor.explore.child.state import State
    from triton_doctor.explore.child.target import Target

MOST_TESTS = 12
# Changes of one test.
MOST_CHANGES = 8


def other_branches(target: Target, state: State, guesser: Guesser, leading: frozenset[str]) -> list[State]:
    """Call `state` again, and return calls that take a branch to a launch that it did not take."""
    found: list[State] = []
    seen_tests: set[tuple[str, int]] = set()
    is_inside = guesser.notes.is_inside
    built: list[Built] = []

    def at_line(running: FrameType, event: str, _: Any) -> Any:
        place = running.f_code.co_filename, running.f_lineno
        if event != "line" or place in seen_tests or len(seen_tests) > 200:
            return at_line
        test = tests_of(place[0], leading).get(place[1])
        if test is None:
            return at_line
        seen_tests.add(place)
        sys.settrace(None)
        try:
            found.extend(_solve(*test, running))
        finally:
            sys.settrace(at_call)
        return at_line

    def _solve(node: ast.If, is_in_body: bool, is_in_rest: bool, running: FrameType) -> list[State]:
        frame = frame_at(running, is_inside)
        if frame is None or not built:
            return []
        value = frame.evaluate(node.test)
        try:
            holds = None if value is UNKNOWN else bool(value)
        except Exception:  # a tensor of several elements
            return []
        if (holds is True and is_in_rest) or (holds is False and is_in_body):
            changes = Changes(built[-1].state, guesser)
            Solver(changes, Tracker(target, built[-1]), is_inside).solve(node.test, not holds, frame)
            for change in changes.states:
                change.note = f"{node.lineno}: {change.note}"
            return changes.states[:MOST_CHANGES]
        return []

    def at_call(running: FrameType, event: str, _: Any) -> Any:
        return at_line if event == "call" and is_inside(running.f_code.co_filename) else None

    sys.settrace(at_call)
    try:
        execute(target, state.copy(state.note), built.append)
    finally:
        sys.settrace(None)
    return found


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
    """Whether a block names what leads to a launch, or launches."""
    for node in (node for each in block for node in ast.walk(each)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in leading:
                return True
            case ast.Call(func=ast.Subscript()):
                return True
    return False

"""Compares two versions of a file: do they differ only by plain comments and empty lines between statements?"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Location
from triton_doctor.plan import DropArgument, DropListed, NameArgument, Replace
from triton_doctor.static.python.pieces import lines_of, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.finding import Finding, Span, Undecided
    from triton_doctor.plan import Change, Plan

# Comments with brackets, quotes, dots, `=` or `:` may be shapes, code, directives or encodings: those count as content.
_SAYS_NOTHING = re.compile(rb"[ \t]*(?:#[\w ,;-]*)?")
_HOLDERS = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While, ast.With,
    ast.AsyncWith, ast.Try, ast.TryStar, ast.ExceptHandler, ast.match_case,
)  # fmt: skip
_QUOTES_A_LINE = re.compile(r"\bline \d")


class MovedLines(NamedTuple):
    """An edit of the file at `path` that moved everything below line `last` by `by` lines."""

    path: str
    last: int
    by: int

    def location(self, before: Location) -> Location:
        """Return the new location."""
        moves = before.path == self.path and before.line > self.last
        return Location(before.path, before.line + self.by) if moves else before

    def finding(self, before: Finding) -> Finding | None:
        """Return the finding at its new location; None if its text names a line."""
        if _QUOTES_A_LINE.search(f"{before.message} {before.advice}"):
            return None
        moved = before.relocate(self.location)
        return replace(moved, fix=self._plan(moved.fix)) if moved.fix is not None else moved

    def undecided(self, before: Undecided) -> Undecided:
        """Return the same constexpr at its new location."""
        return before.relocate(self.location)

    def _plan(self, plan: Plan) -> Plan:
        changes = tuple(self._change(one) if one.path == self.path else one for one in plan.changes)
        launches = tuple(one._replace(line=self.location(Location(one.path, one.line)).line) for one in plan.launches)
        return replace(plan, changes=changes, launches=launches)

    def _change(self, change: Change) -> Change:
        if isinstance(change, DropListed):
            return replace(change, call=self._span(change.call))
        if isinstance(change, DropArgument | NameArgument | Replace):
            return replace(change, call=self._span(change.call), span=self._span(change.span))
        return replace(change, span=self._span(change.span))

    def _span(self, span: Span) -> Span:
        first, last = (self.location(Location(self.path, line)).line for line in (span.line, span.end_line))
        return span._replace(line=first, end_line=last)


def find_moved_lines(path: str, before: bytes, after: bytes) -> MovedLines | None:
    """Return the move, if only plain comments and empty lines changed between two statements.

    None after any other edit.
    """
    if b"\r" in before or b"\r" in after or b"\f" in before or b"\f" in after:
        return None  # Python counts lines in another way
    old, new = before.split(b"\n"), after.split(b"\n")
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    rest = zip(reversed(old[head:]), reversed(new[head:]), strict=False)
    tail = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], rest))
    edited = (*old[head : len(old) - tail], *new[head : len(new) - tail])
    if not all(map(_SAYS_NOTHING.fullmatch, edited)):
        return None
    try:
        tree = parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    above = new[head - 1] if head else b""
    if above.endswith(b"\\") or _splits_statement(tree, head, ends_header=above.rstrip().endswith(b":")):
        return None
    return MovedLines(path, head, len(new) - len(old))


def _splits_statement(tree: ast.Module, line: int, *, ends_header: bool) -> bool:
    """Return whether a statement, or the header of a compound one, continues after `line`.

    `ends_header` allows a break after the header's colon.
    """
    for node in _statements(tree):
        if isinstance(node, ast.Match):
            if node.lineno <= line < node.cases[0].pattern.lineno:
                return True
        elif isinstance(node, _HOLDERS):
            is_header = _first_line(node) <= line < _first_line(node.body[0])
            if is_header and not (ends_header and _header_end(node) <= line):
                return True
        elif isinstance(node, ast.stmt) and node.lineno <= line < (node.end_lineno or node.lineno):
            return True
    return False


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements, handlers and cases in `node`, but not its expressions."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        for inner in getattr(node, name, ()):
            yield inner
            yield from _statements(inner)


def _first_line(node: ast.stmt | ast.ExceptHandler | ast.match_case) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    return lines_of(node)[0] if isinstance(node, ast.stmt) else node.lineno


def _header_end(node: ast.AST) -> int:
    """Return the last line of the expressions in the header of `node`."""
    header = (part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt | ast.ExceptHandler))
    return max((getattr(one, "end_lineno", 0) for part in header for one in ast.walk(part)), default=0)

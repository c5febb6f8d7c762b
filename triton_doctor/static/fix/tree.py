"""Spans to the nodes of libcst at these positions."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from triton_doctor.static.fix.text import CannotEditError
from triton_doctor.static.python.pieces import statement_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.fix.text import Text

Node = TypeVar("Node", bound=cst.CSTNode)


class Tree:
    """The syntax tree of one file, with positions of nodes.

    libcst takes 0.2 s for a thousand lines, mostly to compute positions; so for a span, only the top-level statement
    around it is parsed.
    """

    def __init__(self, text: Text) -> None:
        """Nothing is parsed yet."""
        self._text = text
        self._bounds: dict[cst.CSTNode, tuple[int, int]] = {}
        self._parsed: dict[tuple[int, int], tuple[cst.CSTNode, ...]] = {}

    @cached_property
    def _statements(self) -> Sequence[tuple[int, int]]:
        """The first and last line of each top-level statement; empty if two share a line."""
        try:
            lines = statement_lines(self._text.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ()
        return lines if all(before[1] < after[0] for before, after in pairwise(lines)) else ()

    def _around(self, span: Span) -> tuple[cst.CSTNode, ...]:
        """Return the nodes of the statement that contains `span`; of the whole file if that is ambiguous."""
        for first, last in self._statements:
            if first <= span.line and span.end_line <= last:
                return self._parse(first, last)
        return self._parse(1, self._text.lines)

    def _parse(self, first: int, last: int) -> tuple[cst.CSTNode, ...]:
        """Return the nodes of the lines `first` to `last`. Raises CannotEditError if libcst cannot parse them."""
        if (first, last) not in self._parsed:
            source = self._text.between(first, last)
            try:
                wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
                positions = wrapper.resolve(PositionProvider)
            except (cst.ParserSyntaxError, RecursionError) as error:
                raise CannotEditError("libcst does not parse it") from error
            offset = self._text.offset
            found: dict[cst.CSTNode, tuple[int, int]] = {
                node: (
                    offset(span.start.line + first - 1, span.start.column),
                    offset(span.end.line + first - 1, span.end.column),
                )
                for node, span in positions.items()
                if isinstance(node, _WANTED)
            }
            self._bounds.update(found)
            self._parsed[first, last] = tuple(found)
        return self._parsed[first, last]

    def bounds(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return start and end offset of `node`. A parameter includes its default."""
        if isinstance(node, cst.Param):
            last = node.default or node.annotation or node.name
            return self._bounds[node.name][0], self._end(last)
        return self._bounds[node]

    def _end(self, node: cst.CSTNode) -> int:
        found = self._bounds.get(node)
        if found is None:
            raise CannotEditError("it is written in an unusual way")
        parens = getattr(node, "rpar", ())
        end = found[1]
        for _ in parens:
            end = self._text.text.index(")", end) + 1
        return end

    def of(self, kind: type[Node]) -> Iterator[Node]:
        """Yield every node of that kind in the file, in no particular order."""
        return (node for node in self._parse(1, self._text.lines) if isinstance(node, kind))

    def within(self, kind: type[Node], span: Span) -> Iterator[Node]:
        """Yield every node of that kind in the top-level statement around `span`, in no particular order."""
        return (node for node in self._around(span) if isinstance(node, kind))

    def at(self, kind: type[Node], span: Span) -> Node:
        """Return the node of that kind with exactly that span."""
        wanted = self._text.bounds(span)
        for node in self.within(kind, span):
            if self._bounds[node] == wanted:
                return node
        raise CannotEditError("it is written in an unusual way")

    def param(self, span: Span) -> tuple[cst.FunctionDef, cst.Param]:
        """Return the parameter that begins where `span` does, and its function."""
        start, _ = self._text.bounds(span)
        for function in self.within(cst.FunctionDef, span):
            parameters = function.params
            for param in (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params):
                if self._bounds[param.name][0] == start:
                    return function, param
        raise CannotEditError("it is written in an unusual way")

    def argument(self, call: cst.Call, span: Span) -> cst.Arg:
        """Return the argument of `call` whose value contains `span`."""
        start, end = self._text.bounds(span)
        for argument in call.args:
            first, last = self._bounds[argument]
            if first <= start and end <= last:
                return argument
        raise CannotEditError("it is written in an unusual way")

    def arguments(self, call: cst.Call) -> Sequence[tuple[int, int]]:
        """Return the bounds of the arguments of `call`, in order."""
        return [self._bounds[argument] for argument in call.args]


_WANTED = (
    cst.Arg,
    cst.Assign,
    cst.AssignTarget,
    cst.Attribute,
    cst.BaseElement,
    cst.BaseExpression,
    cst.BaseSmallStatement,
    cst.FunctionDef,
    cst.Annotation,
    cst.ImportAlias,
    cst.IndentedBlock,
    cst.Param,
    cst.SimpleStatementLine,
)

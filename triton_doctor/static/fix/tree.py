"""Spans of the facts to the nodes of libcst that stand there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from triton_doctor.static.fix.cannot import CannotEditError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.fix.text import Text

Node = TypeVar("Node", bound=cst.CSTNode)


class Tree:
    """The syntax tree of one file, and where its nodes are."""

    def __init__(self, text: Text) -> None:
        """Raises CannotEditError where libcst does not parse it."""
        self._text = text
        try:
            wrapper = MetadataWrapper(cst.parse_module(text.text), unsafe_skip_copy=True)
            positions = wrapper.resolve(PositionProvider)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise CannotEditError("libcst does not parse it") from error
        self._bounds: dict[cst.CSTNode, tuple[int, int]] = {
            node: (text.offset(place.start.line, place.start.column), text.offset(place.end.line, place.end.column))
            for node, place in positions.items()
            if isinstance(node, _WANTED)
        }
        self._by_kind: dict[type[cst.CSTNode], list[cst.CSTNode]] = {}

    def bounds(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where `node` begins and ends. A parameter ends with its default."""
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
        """Every node of that kind, in no order."""
        if kind not in self._by_kind:
            self._by_kind[kind] = [node for node in self._bounds if isinstance(node, kind)]
        return iter(self._by_kind[kind])  # type: ignore[arg-type]

    def at(self, kind: type[Node], span: Span) -> Node:
        """The node of that kind that spans `span`."""
        wanted = self._text.bounds(span)
        for node in self.of(kind):
            if self._bounds[node] == wanted:
                return node
        raise CannotEditError("it is written in an unusual way")

    def param(self, span: Span) -> tuple[cst.FunctionDef, cst.Param]:
        """The parameter that begins where `span` does, and its function."""
        start, _ = self._text.bounds(span)
        for function in self.of(cst.FunctionDef):
            parameters = function.params
            for param in (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params):
                if self._bounds[param.name][0] == start:
                    return function, param
        raise CannotEditError("it is written in an unusual way")

    def argument(self, call: cst.Call, span: Span) -> cst.Arg:
        """The argument of `call` whose value holds `span`."""
        start, end = self._text.bounds(span)
        for argument in call.args:
            first, last = self._bounds[argument]
            if first <= start and end <= last:
                return argument
        raise CannotEditError("it is written in an unusual way")

    def arguments(self, call: cst.Call) -> Sequence[tuple[int, int]]:
        """Where the arguments of `call` are, in order."""
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

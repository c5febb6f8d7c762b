"""Which part of a file is parsed to find the node at a span."""

from __future__ import annotations

import libcst as cst
import pytest

from triton_doctor.finding import Span
from triton_doctor.static.fix.text import Text
from triton_doctor.static.fix.tree import Tree

LINES = ["import os", "", "@decorate(", "    1,", ")", "def f(a: int):", "    return g(a)", "", "h(2)"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_node_is_found_in_its_statement_whatever_ends_lines(end: str) -> None:
    text = Text(end.join(LINES).encode())
    tree = Tree(text)

    function, param = tree.param(Span(6, 7, 6, 13))
    call = tree.at(cst.Call, Span(9, 1, 9, 5))

    assert (function.name.value, param.name.value) == ("f", "a")
    assert text.text[slice(*tree.bounds(call))] == "h(2)"


def test_only_the_statement_that_holds_the_span_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    whole = cst.parse_module
    monkeypatch.setattr(cst, "parse_module", lambda source: parsed.append(source) or whole(source))

    tree = Tree(Text("\n".join(LINES).encode()))
    tree.at(cst.Call, Span(9, 1, 9, 5))
    tree.at(cst.Call, Span(9, 1, 9, 5))

    assert parsed == ["h(2)"]


def test_statements_that_share_a_line_are_parsed_together() -> None:
    tree = Tree(Text(b"a(1); b(2)\n"))

    assert isinstance(tree.at(cst.Call, Span(1, 7, 1, 11)).func, cst.Name)

"""A text by its lines: where a statement is indented, and a function parsed alone."""

from __future__ import annotations

import ast

import pytest

from triton_doctor.static.sources.source_text import SourceText


@pytest.mark.parametrize(
    ("line", "indented"),
    [
        pytest.param("def k(): pass", False, id="at the margin"),
        pytest.param("    def k(): pass", True, id="in a block"),
        pytest.param("\x0cdef k(): pass", False, id="behind a form feed"),
        pytest.param("    \x0cdef k(): pass", False, id="behind spaces and a form feed"),
        pytest.param("\x0c    def k(): pass", True, id="in a block, behind a form feed"),
    ],
)
def test_form_feed_sets_the_indentation_back(line: str, indented: bool) -> None:
    source = SourceText(("if 1:\n" if indented else "x = 1\n").encode() + line.encode() + b"\n")

    assert source.is_indented(2) is indented
    ast.parse(source.alone(2, 2, indented=indented))

"""Expressions as a user would write them."""

from __future__ import annotations

import ast

import pytest

from triton_doctor.static.python.lower import lower_alone
from triton_doctor.static.python.printing import spell


@pytest.mark.parametrize("text", ["a and b", "a or b", "a if b else c", "not a", "f(x, n=1)[0]", "a < b"])
def test_expression_is_printed_as_it_was_written(text: str) -> None:
    assert spell(lower_alone(ast.parse(text, mode="eval").body)) == text

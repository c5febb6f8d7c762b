"""What text alone says: where a function may be called and an attribute stored, before anything is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.project.calls.called_names import call_pattern
from triton_doctor.static.variability.interpreter.attributes import keyword_pattern, store_pattern

if TYPE_CHECKING:
    from triton_doctor.static.sources.source_text import TextPattern


def shows(pattern: TextPattern, text: str) -> bool:
    return next(pattern.offsets(text.encode()), None) is not None


@pytest.mark.parametrize(
    "text",
    [
        "y = scale(x)",
        "y = ops.scale (x)",
        "y = (scale)(x)",
        "y = (scale # twice)\n    )(x)",
        "y = scale.apply(x)",
        "y = scale \\\n  .apply(x)",
        "y = rescale(scale(x))",
    ],
)
def test_text_of_a_call(text: str) -> None:
    assert shows(call_pattern("scale"), text)


@pytest.mark.parametrize(
    "text", ["def scale(x):", "y = rescale(x)", "y = scale.shape(x)", "scale = f(x)", "y = scales(x)"]
)
def test_text_of_no_call(text: str) -> None:
    assert not shows(call_pattern("scale"), text)


@pytest.mark.parametrize(
    "text",
    [
        "a.size = 1",
        "a.size: int = 1",
        "a.size, b = x.shape",
        "b, a.size = x.shape",
        "(b, a.size) = x.shape",
        "[b, a.size] = x.shape",
        "for a.size in sizes:",
        'table["size"] = 1',
        "a.size \\\n  = 1",
        "(a.size,  # first\n b) = x.shape",
        "(a.size  # first\n , b) = x.shape",
        "a.size, \\\n  b = x.shape",
        "a.size: Union[\n  int, None] = 1",
        "(\n  b,\n  a.size,\n  c.d[0],\n) = f(x)",
        "a.size, (b, c) = f(x)",
    ],
)
def test_text_of_a_store(text: str) -> None:
    assert shows(store_pattern("size"), text)


@pytest.mark.parametrize(
    "text",
    ["a.size == 1", "a.size.x = 1", "a.size(1)", "a.sizes = 1", "a.resize = 1", "a.size += 1"]
    + ["if a.size:\n  b = 1", "f(a.size, b)", "x[a.size, 1]", "b = a.size  # one", "b = [a.size]\nc = 1"]
    + ["size = 1", "f(\n  a.size,\n  b=1,\n)", "f(size=1)"],
)
def test_text_of_no_store(text: str) -> None:
    assert not shows(store_pattern("size"), text)


def test_text_of_an_argument() -> None:
    assert shows(keyword_pattern("size"), "table.update(a, size = 1)")
    assert not shows(keyword_pattern("size"), "f(x.size == size, a.size=1)")

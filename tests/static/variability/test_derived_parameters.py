"""A constexpr that is computed from others of its launch follows from them: it adds no variant of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import FileKind, SourceFile

if TYPE_CHECKING:
    from triton_doctor.finding import Finding

SOURCE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def work(out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    tl.store(out, A + B + C)


def launch(out, x, lengths, tokens):
    n = len(lengths)
    {before}
    work[(1,)](out, {arguments})
"""


def findings(arguments: str, before: str = "pass") -> dict[str, Finding]:
    """What is reported of each parameter."""
    return findings_of(SOURCE.format(arguments=arguments, before=before))


def findings_of(source: str) -> dict[str, Finding]:
    """What is reported of each parameter in `source`."""
    file = SourceFile("a.py", "a.py", FileKind.PYTHON, source.encode())
    found = scan([file], Settings(root=Path()), cwd=Path()).findings
    return {one.facts.parameter or "": one for one in found if one.code == "TRD201"}


def follows(arguments: str, before: str = "pass") -> dict[str, tuple[str, ...]]:
    """The parameters that are reported, with those that each follows from."""
    return {name: one.facts.follows for name, one in findings(arguments, before).items()}


@pytest.mark.parametrize(
    ("arguments", "before", "names"),
    [
        pytest.param("n, n * 16, 64", "pass", ("A",), id="a product with a literal"),
        pytest.param("n, triton.cdiv(n, 64), 64", "pass", ("A",), id="a rounded quotient"),
        pytest.param("n, padded, 64", "padded = n * 16", ("A",), id="a product that has a name"),
        pytest.param("n, n, 64", "pass", ("A",), id="the same"),
        pytest.param("n, n * len(tokens), len(tokens)", "pass", ("A", "C"), id="a product of two others"),
        pytest.param("n_rows, n_rows * width, width", "n_rows, width = x.shape", ("A",), id="a product of axes"),
        pytest.param("n_rows, x.numel(), width", "n_rows, width = x.shape", ("A",), id="all elements of named axes"),
        pytest.param(
            "n_rows, y.numel(), width",
            "n_rows, width = x.shape\n    y = torch.empty(n_rows, width)",
            ("A",),
            id="a number of elements",
        ),
    ],
)
def test_what_is_computed_from_others_follows_from_them(arguments: str, before: str, names: tuple[str, ...]) -> None:
    found = follows(arguments, before)

    assert found["A"] == ()
    assert found["B"] == names


@pytest.mark.parametrize(
    ("arguments", "before"),
    [
        pytest.param("n, n * len(tokens), 64", "pass", id="a product with what is no constexpr"),
        pytest.param("n, padded, 64", "padded = n * 16\n    n = len(tokens)", id="a name that was bound again"),
        pytest.param("n, tokens.count(n), 64", "pass", id="a call that may say something else"),
    ],
)
def test_what_has_something_of_its_own_follows_from_nothing(arguments: str, before: str) -> None:
    assert set(follows(arguments, before).values()) == {()}

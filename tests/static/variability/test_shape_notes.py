"""Notes of shapes: which axes a note names for which tensor, and what the names mean in their function."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.python.parse import read_module
from triton_doctor.static.variability.notes.shape_notes import notes_of

if TYPE_CHECKING:
    from triton_doctor.static.variability.notes.written_shapes import ShapeNote

DATA, MODEL, UNKNOWN = True, False, None


def notes_in(text: str, name: str = "x") -> ShapeNote | None:
    function = read_module("a.py", dedent(text).encode()).functions["run"]
    return notes_of(function).parameters.get(name)


def axes_in(text: str, name: str = "x") -> tuple[str, ...] | None:
    note = notes_in(text, name)
    return note.axes if note is not None else None


@pytest.mark.parametrize(
    ("header", "axes"),
    [
        pytest.param("x,  # (B, NH, S, DHQK)", ("B", "NH", "S", "DHQK"), id="letters"),
        pytest.param("x: torch.Tensor,  # [num_tokens, heads, dim]", ("num_tokens", "heads", "dim"), id="words"),
        pytest.param("x=None,  # (B, (NC + 1) * D)", ("B", "(NC + 1) * D"), id="computed"),
        pytest.param("x,  # hidden states, (batch size, seq len, dim)", ("batch_size", "seq_len", "dim"), id="spaced"),
        pytest.param("y, x,  # (B, T)", ("B", "T"), id="two on one line"),
        pytest.param("x,  # (..., T, D)", ("...", "T", "D"), id="open"),
        pytest.param("x,  # (B, NC * L) = (B, S)", ("B", "S"), id="said in two ways: the plainer"),
        pytest.param("x,  # [B, T, H] if not head_first else [B, H, T]", ("B", "", ""), id="two layouts"),
        pytest.param("x,  # (B, C, H, W) | (B, H, W, C)", ("B", "", "", ""), id="one layout or another"),
        pytest.param("x,  # (B, C, H, W) | (B, 4, C, H, W)", None, id="four axes or five"),
        pytest.param("x,  # (optional, default)", None, id="no axes"),
        pytest.param("x,  # in [0, T - 1]", None, id="a range"),
        pytest.param("x,  # (1, 2, 3)", None, id="numbers alone"),
        pytest.param("x,  # see (B)", None, id="a letter in brackets"),
        pytest.param('x="# (B, T)",', None, id="a string"),
        pytest.param("x,\n# (B, T)\ny,", None, id="a line of its own"),
    ],
)
def test_comment_behind_a_parameter_names_its_axes(header: str, axes: tuple[str, ...] | None) -> None:
    text = f"def run(\n{indent(header, '    ')}\n    last=1,\n):\n    pass\n"

    assert axes_in(text) == axes


GOOGLE = """
Args:
    x (torch.Tensor):
        queries of shape `[B, T, H, K]`.
    y: (N,)
"""
NUMPY = """
Parameters
----------
x : torch.Tensor
    Shape: (B, T)
y : int
    Shape: (N, M)
"""
REST = """
:param y: (N, M)
:param Tensor x: the rows, (batch, seqlen, dim)
"""


@pytest.mark.parametrize(
    ("docstring", "axes"),
    [
        pytest.param(GOOGLE, ("B", "T", "H", "K"), id="Google"),
        pytest.param(NUMPY, ("B", "T"), id="NumPy"),
        pytest.param(REST, ("batch", "seqlen", "dim"), id="reST"),
        pytest.param("x: (batch_size, seqlen, nheads)\ny: int", ("batch_size", "seqlen", "nheads"), id="list"),
        pytest.param("x (Tensor, optional): the input.\ny (B, T): none of `x`.", None, id="of another"),
        pytest.param("Returns:\n    (B, T)", None, id="of the result"),
        pytest.param("x: `[N]` or `[1, N]`.", None, id="of several ranks"),
    ],
)
def test_docstring_names_the_axes_of_a_parameter(docstring: str, axes: tuple[str, ...] | None) -> None:
    text = f'def run(x, y):\n    """Do it.\n\n{indent(docstring, "    ")}\n    """\n'

    assert axes_in(text) == axes


@pytest.mark.parametrize(
    ("annotation", "axes"),
    [
        pytest.param('Float[Tensor, "batch seq dim"]', ("batch", "seq", "dim"), id="jaxtyping"),
        pytest.param('Float[torch.Tensor, "*batch seq #dim"] | None', ("...", "seq", "dim"), id="jaxtyping, open"),
        pytest.param('TensorType["batch", "seq", 3]', ("batch", "seq", "3"), id="torchtyping"),
        pytest.param("Tensor[B, T, D]", ("B", "T", "D"), id="Pyrefly"),
        pytest.param("list[torch.Tensor]", None, id="no axes"),
    ],
)
def test_annotation_names_axes(annotation: str, axes: tuple[str, ...] | None) -> None:
    assert axes_in(f"def run(x: {annotation}):\n    pass\n") == axes


@pytest.mark.parametrize(
    ("statement", "axes"),
    [
        pytest.param("assert x.shape == (B, T, D)", ("B", "T", "D"), id="assert"),
        pytest.param("assert tuple(x.shape) == (B, T)", ("B", "T"), id="assert of a tuple"),
        pytest.param("torch._check(x.size() == (B, T))", ("B", "T"), id="torch._check"),
        pytest.param('y = rearrange(x, "b t (h d) -> b t h d", d=D)', ("b", "t", "h*d"), id="einops"),
        pytest.param("# x: [B, T]", ("B", "T"), id="comment that names it"),
        pytest.param("x = flat(x)\n    assert x.shape == (B, T)", None, id="bound anew before"),
    ],
)
def test_statement_names_the_axes_of_a_parameter(statement: str, axes: tuple[str, ...] | None) -> None:
    assert axes_in(f"def run(x):\n    {statement}\n    return x\n") == axes


def test_comment_behind_an_assignment_is_of_the_line_where_that_begins() -> None:
    text = "def run(x):\n    y = torch.empty(\n        n,  # (A, B)\n    )  # (B, T)\n    return y  # (S, D)\n"
    function = read_module("a.py", text.encode()).functions["run"]

    assert {line: note.axes for line, note in notes_of(function).assigned.items()} == {2: ("B", "T"), 5: ("S", "D")}


@pytest.mark.parametrize(
    ("docstring", "axes"),
    [
        pytest.param("Returns:\n    torch.Tensor: of shape (B, T, D).", ("B", "T", "D"), id="Google"),
        pytest.param("Returns\n-------\nout : torch.Tensor\n    Shape (B, T)", ("B", "T"), id="NumPy"),
        pytest.param(":returns: the rows, (batch, dim)", ("batch", "dim"), id="reST"),
        pytest.param("Returns:\n    out: (B, T)\n    lse: (B, H)", None, id="of several results"),
        pytest.param("Returns:\n    - out: the rows\n    - counts: [tokens, heads]", None, id="of one of several"),
        pytest.param("Returns:\n    (B, T, D)\n    where `D` is the width.", ("B", "T", "D"), id="explained below"),
        pytest.param("Returns:\n    the rows\n\nNote:\n    x is (B, T)", None, id="of another section"),
    ],
)
def test_docstring_names_the_axes_of_the_result(docstring: str, axes: tuple[str, ...] | None) -> None:
    text = f'def run(x):\n    """Do it.\n\n{indent(docstring, "    ")}\n    """\n'
    function = read_module("a.py", text.encode()).functions["run"]

    result = notes_of(function).result

    assert (result.axes if result is not None else None) == axes


@pytest.mark.parametrize(
    ("note", "body", "meanings"),
    [
        pytest.param("(B, NH, S, DHQK)", "", (DATA, MODEL, DATA, MODEL), id="letters"),
        pytest.param("[num_experts, batch_size, 2 * hidden_size]", "", (MODEL, DATA, MODEL), id="words"),
        pytest.param(
            "(B, NC, L)", "L = chunk_size\n    NC = S // L", (DATA, DATA, UNKNOWN), id="a letter that is bound"
        ),
        pytest.param("(B, L, D)", "", (DATA, DATA, MODEL), id="between batch and width"),
        pytest.param("(b, h, n, d)", "b, h, n, d = y.shape", (DATA, MODEL, DATA, MODEL), id="between heads and width"),
        pytest.param("(B, N, H, S)", "", (DATA, UNKNOWN, MODEL, UNKNOWN), id="two that may be the length"),
        pytest.param("(B, M, G, T)", "", (DATA, UNKNOWN, MODEL, UNKNOWN), id="what was selected for each query"),
        pytest.param("(B, H, D, T)", "", (DATA, MODEL, MODEL, DATA), id="a length behind widths"),
        pytest.param("(B, L, D)", "L = chunk_size", (DATA, UNKNOWN, MODEL), id="a chunk between batch and width"),
        pytest.param("(B, D, L)", "", (DATA, MODEL, DATA), id="a sequence of channels"),
        pytest.param("(B, D, L)", "L = chunk_size", (DATA, MODEL, UNKNOWN), id="a chunk of channels"),
        pytest.param("(N, C, H * W)", "", (UNKNOWN, MODEL, UNKNOWN), id="an image"),
        pytest.param("(B, S // T, D)", "", (DATA, UNKNOWN, MODEL), id="a quotient of lengths"),
        pytest.param(
            "(Q, NC)", '"""Q: number of heads\n    NC: number of chunks\n    """', (MODEL, DATA), id="a legend"
        ),
        pytest.param("(B, D)", "B = 1", (MODEL, MODEL), id="a batch of one"),
        pytest.param("(T, D)", "T = x.numel() // D", (DATA, MODEL), id="rows of a flattened tensor"),
    ],
)
def test_axis_means_what_its_function_makes_of_it(note: str, body: str, meanings: tuple[bool | None, ...]) -> None:
    text = f"def run(\n    x,  # {note}\n    y,\n):\n    {body or 'pass'}\n"

    found = notes_in(text)

    assert found is not None
    assert found.meanings == meanings

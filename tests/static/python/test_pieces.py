"""A large module is read piece by piece, says the same, and needs the memory of a piece for its trees."""

from __future__ import annotations

import ast
import json
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.python import pieces
from triton_doctor.static.python.parse import read_module
from triton_doctor.static.python.pieces import parse_pieces
from triton_doctor.static.sources.source_text import SourceText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.module import Module

LIBRARY = Path(json.__file__).parent.parent


def told(module: Module) -> tuple[object, ...]:
    """All that `module` says, as plain values."""
    functions = [
        (one.qualname, one.line, one.params, one.decorators, one.class_name, one.parent, repr(one.text.contents))
        for one in module.functions.values()
    ]
    return functions, repr(module.classes), repr(module.kernels), module.imports, module.star_imports


def in_pieces(text: bytes, least_bytes: int) -> Sequence[Sequence[ast.stmt]]:
    return list(parse_pieces(SourceText(text), least_bytes))


def test_files_of_the_standard_library_read_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [path for path in sorted(LIBRARY.glob("*.py")) if path.stat().st_size > 20_000][:15]
    whole = [told(read_module(path.name, path.read_bytes())) for path in files]
    monkeypatch.setattr(pieces, "_LEAST_BYTES", 1_000)

    assert [told(read_module(path.name, path.read_bytes())) for path in files] == whole


def test_pieces_are_the_statements_at_their_places() -> None:
    texts = [path.read_bytes() for path in sorted(LIBRARY.glob("*.py"))[:40]]
    counts = []
    for text in texts:
        try:
            found = in_pieces(text, 4_000)
        except SyntaxError:
            continue  # then the text is parsed as it is
        counts.append(len(found))
        statements = [one for piece in found for one in piece]
        assert [ast.dump(one, include_attributes=True) for one in statements] == [
            ast.dump(one, include_attributes=True) for one in ast.parse(text).body
        ]

    assert sum(counts) > 100


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"x = '''\na\nb\n'''\ny = 1\n", id="a string at the margin"),
        pytest.param(b"x = (\na,\nb\n)\n", id="brackets at the margin"),
        pytest.param(b"x = 1 + \\\ny\nz = 2\n", id="a line that goes on"),
        pytest.param(b"if x:\n    a\nelif y:\n    b\nelse:\n    c\ntry:\n    a\nfinally:\n    b\n", id="branches"),
        pytest.param(b"@a\n@b\nclass A:\n    x = 1\n@c(\n1\n)\nasync def f(): pass\n", id="decorators"),
        pytest.param(b"# coding: latin-1\nx = '\xe9'\ny = '\xe9'\n", id="an encoding"),
    ],
)
def test_places_that_look_like_a_beginning_mislead_nobody(text: bytes) -> None:
    try:
        found = [one for piece in in_pieces(text, 1) for one in piece]
    except SyntaxError:
        return  # then the text is parsed as it is

    assert [ast.dump(one, include_attributes=True) for one in found] == [
        ast.dump(one, include_attributes=True) for one in ast.parse(text).body
    ]


def test_error_in_a_large_file_is_reported_at_its_line() -> None:
    text = (b"x = 1  #%s\n" % (b"-" * 100)) * 10_000 + b"def f(:\n"
    assert pieces.is_large(text)

    with pytest.raises(SyntaxError) as error:
        read_module("a.py", text)

    assert error.value.lineno == 10_001


def test_memory_for_a_large_file_is_that_of_a_piece_and_of_what_it_says() -> None:
    def peak(count: int) -> int:
        text = b"import triton\n" + b"".join(
            b"call_it(%d, x=%d)  # %s\n" % (one, one, b"-" * 250) for one in range(count)
        )
        tracemalloc.start()
        try:
            read_module("a.py", text)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    small, large = peak(3_000), peak(6_000)

    assert pieces.is_large(b" " * 3_000 * 270)
    # A tree of it all takes 4,000 bytes for each line.
    assert (large - small) / 3_000 < 2_000

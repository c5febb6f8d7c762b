"""Only the bytes of the edit change: line ends, encoding, tabs, comments and alignment stay."""

from __future__ import annotations

import ast
import codecs
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_doctor.static.fix.listed import drop_items
from triton_doctor.static.fix.text import Text, unified_diff

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.static.fix.rounds import Fixed

TEXT = """\
import triton
import triton.language as tl

@triton.jit
def fill(x_ptr,   n: tl.constexpr,   BLOCK : tl.constexpr):  # é, aligned
\tat  =  tl.arange( 0, BLOCK )
\ttl.store(x_ptr + at, 0, mask=at<n)

def launch(x):
    fill[(4,)](x,
               x.numel(),  # how many
               BLOCK = 64)
"""
FIXED = TEXT.replace("n: tl.constexpr", "n")


@pytest.mark.parametrize(
    ("encode"),
    [
        pytest.param(lambda text: text.encode(), id="as it is"),
        pytest.param(lambda text: text.replace("\n", "\r\n").encode(), id="CRLF"),
        pytest.param(lambda text: text.replace("\n", "\r").encode(), id="CR"),
        pytest.param(lambda text: text.replace(":\n", ":\r\n").encode(), id="mixed line ends"),
        pytest.param(lambda text: text.rstrip("\n").encode(), id="no line end at the end"),
        pytest.param(lambda text: codecs.BOM_UTF8 + text.encode(), id="a byte order mark"),
        pytest.param(lambda text: f"# coding: latin-1\n{text}".encode("latin-1"), id="an encoding cookie"),
        pytest.param(lambda text: f"#!/usr/bin/python\n# coding: cp1252\n{text}".encode("cp1252"), id="a second line"),
        pytest.param(lambda text: f"\f{text}".encode(), id="a form feed"),
    ],
)
def test_all_else_stays(encode: Callable[[str], bytes], fixed: Callable[..., Fixed]) -> None:
    done = fixed({"a.py": encode(TEXT)})

    assert done.files["a.py"].after == encode(FIXED)


def test_text_that_its_encoding_does_not_give_back_is_left_alone(fixed: Callable[..., Fixed]) -> None:
    done = fixed({"a.py": f"# coding: utf-7\n{TEXT.replace('é', '+AOk-').replace('<', '+ADw-')}"})

    assert not done.files


def test_diff_is_one_that_patch_takes() -> None:
    assert unified_diff("a.py", b"x = 1\r\ny = 2", b"x = 1\r\ny = 3") == (
        "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\r\n-y = 2\n\\ No newline at end of file\n"
        "+y = 3\n\\ No newline at end of file\n"
    )


SEPARATORS = st.sampled_from([", ", ",", " , ", ",  # why\n    ", ",\n    ", ",\n\n    # of the next\n    "])


@given(st.lists(SEPARATORS, min_size=1, max_size=6), st.sampled_from(["", ",", ",\n", "\n"]), st.data())
@settings(deadline=None)
def test_call_is_left_with_the_other_arguments(separators: list[str], end: str, data: st.DataObject) -> None:
    names = [f"a{number}" for number in range(len(separators) + 1)]
    dropped = data.draw(st.frozensets(st.integers(0, len(names) - 1), max_size=len(names)))
    source = "f(" + "".join(name + after for name, after in zip(names, [*separators, end], strict=True)) + ")\n"
    text = Text(source.encode())
    bounds = [(source.index(name), source.index(name) + len(name)) for name in names]

    after = text.spliced(drop_items(text, bounds, dropped))

    call = ast.parse(after).body[0].value  # type: ignore[attr-defined]
    assert [one.id for one in call.args] == [name for number, name in enumerate(names) if number not in dropped]

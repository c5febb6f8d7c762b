"""Edits after which a file says the same on other lines."""

from __future__ import annotations

import pytest

from triton_doctor.finding import Location
from triton_doctor.static.python.moved_lines import MovedLines, find_moved_lines

TEXT = """\
import triton


@triton.jit
def kernel(
    x,
    n,
):
    \"\"\"Adds.

    n: rows
    \"\"\"
    if n:
        x = (
            n
        )
    return x
"""


@pytest.mark.parametrize(
    ("line", "added", "is_same"),
    [
        pytest.param(0, "# a comment", True, id="above all"),
        pytest.param(2, "# a comment", True, id="above a decorator"),
        pytest.param(2, "", True, id="an empty line"),
        pytest.param(4, "# a comment", False, id="between decorator and function"),
        pytest.param(5, "    # a comment", False, id="in a header"),
        pytest.param(8, "    # a comment", True, id="below a header"),
        pytest.param(10, "", False, id="in a docstring"),
        pytest.param(12, "# a comment", True, id="below the docstring"),
        pytest.param(13, "        # a comment", True, id="below a test"),
        pytest.param(14, "            # a comment", False, id="in brackets"),
        pytest.param(17, "    # a comment", True, id="at the end"),
        pytest.param(16, "    # x: [n]", False, id="a shape"),
        pytest.param(16, "    # triton-doctor: ignore", False, id="a word for us"),
        pytest.param(16, "    n = 1", False, id="a statement"),
        pytest.param(16, "    return x\n    )", False, id="what does not parse"),
    ],
)
def test_only_plain_words_between_statements_say_nothing(line: int, added: str, is_same: bool) -> None:
    lines = TEXT.split("\n")
    longer = "\n".join([*lines[:line], added, *lines[line:]]).encode()

    assert (find_moved_lines("a.py", TEXT.encode(), longer) is not None) == is_same
    assert (find_moved_lines("a.py", longer, TEXT.encode()) is not None) == is_same


def test_what_stands_behind_the_edit_moves() -> None:
    moved = find_moved_lines("a.py", b"x = 1\ny = 2\n", b"x = 1\n\n# more\ny = 2\n")

    assert moved == MovedLines("a.py", 1, 2)
    assert moved.location(Location("a.py", 1)) == Location("a.py", 1)
    assert moved.location(Location("a.py", 2)) == Location("a.py", 4)
    assert moved.location(Location("b.py", 2)) == Location("b.py", 2)


def test_line_that_goes_on_is_no_end_of_a_statement() -> None:
    assert find_moved_lines("a.py", b"x = 1 \\\n+ 2\n", b"x = 1 \\\n\n+ 2\n") is None

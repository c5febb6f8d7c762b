"""A file in newer syntax says so in words, and only if it could hold a kernel."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.python.unreadable import explain_unreadable, newer_syntax

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

NEWER = [
    pytest.param("type X = int\n", "a `type` statement", (3, 12), id="type statement"),
    pytest.param("def f[T](x: T) -> T:\n    return x\n", "type parameters", (3, 12), id="generic function"),
    pytest.param("class A[T]:\n    pass\n", "type parameters", (3, 12), id="generic class"),
    pytest.param("x = f'{a['b']}'\n", "an f-string with quotes", (3, 12), id="nested quotes"),
    pytest.param("x = t'{a}'\n", "a template string", (3, 14), id="template string"),
    pytest.param("try:\n    pass\nexcept A, B:\n    pass\n", "`except` of types", (3, 14), id="except"),
]


@pytest.mark.parametrize(("text", "what", "version"), NEWER)
def test_newer_syntax_is_named_with_the_first_python_that_has_it(
    text: str, what: str, version: tuple[int, int]
) -> None:
    if sys.version_info[:2] >= version:
        pytest.skip("this Python has it")

    with pytest.raises(SyntaxError) as caught:
        ast.parse(text)

    assert f"it uses {what}" in explain_unreadable("a.py", caught.value).message
    assert f"Python {version[0]}.{version[1]}" in (explain_unreadable("a.py", caught.value).advice or "")
    assert newer_syntax(caught.value, running=version) is None


@pytest.mark.parametrize("text", ["if x\n", "x = (\n", "def f(:\n    pass\n"])
def test_plain_mistake_is_no_newer_syntax(text: str) -> None:
    with pytest.raises(SyntaxError) as caught:
        ast.parse(text)

    assert newer_syntax(caught.value) is None


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python has it")
def test_file_in_newer_syntax_is_told_if_it_could_hold_a_kernel(
    doctor: Callable[..., Outcome], write: Callable[..., Path]
) -> None:
    kernel = (
        "import triton\nfrom sizes import size\n\n@triton.jit\ndef k(x, n: triton.language.constexpr):\n    pass\n\n"
    )
    write("a.py", f"{kernel}def run(x):\n    k[(1,)](x, size(x))\n")
    write("sizes.py", "def size(x):\n    return t'{x}'\n")
    write("b.py", f"{kernel}x = t'{{k}}'\n")
    write("names_a_kernel.py", 'SOURCE = "import triton\\n@triton.jit\\ndef k(x): ..."\nx = t"{SOURCE}"\n')

    outcome = doctor("check", "--select", "TRD900", "--output-format", "concise", ".")

    assert outcome.out.count("TRD900") == outcome.out.count("b.py") == 1
    assert "it uses a template string, which Python 3.14 has" in outcome.out

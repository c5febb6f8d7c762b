"""A file that is only consulted reads as it does in full, though its functions are parsed when they are asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.python.outline import outline
from triton_doctor.static.python.parse import read_from_outline, read_module

if TYPE_CHECKING:
    from triton_doctor.static.python.module import Module

LIBRARY = Path(json.__file__).parent.parent


def told(module: Module) -> tuple[object, ...]:
    """All that `module` says, as plain values."""
    functions = [
        (one.qualname, one.line, one.params, one.decorators, one.class_name, one.parent, repr(one.text.contents))
        for one in module.functions.values()
    ]
    return (
        functions,
        repr(module.classes),
        repr(module.kernels),
        [one.uses for one in module.kernels],
        module.imports,
        module.star_imports,
    )


def test_files_of_the_standard_library_read_alike() -> None:
    files = sorted(LIBRARY.glob("*.py"))[::3]
    differing = []
    for file in files:
        text = file.read_bytes()
        consulted = read_from_outline(file.name, text)
        if told(consulted) != told(read_module(file.name, text)) or consulted.unread:
            differing.append(file.name)

    assert len(files) > 50
    assert differing == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"def f(): return g(1)\n\ndef h(a):\n    return g(a)\n", id="one line"),
        pytest.param(b"def f(a, b=(1, 2),\n      c: 'x' = g(1)) -> int:  # a:\n    return a\n", id="a long header"),
        pytest.param(b"def f(a='(', b=1):\n    return a\n\nx = 1\n", id="a bracket in a string"),
        pytest.param(b"def f():\n    '''\nout\n    '''\n    return 1\n\nx = f()\n", id="text at the margin"),
        pytest.param(
            b"T = '''\ndef f(a):\n    return a\n'''\n\ndef g(a):\n    return T, a\n", id="a function in a text"
        ),
        pytest.param(b"def f():\n    return (1,\n2)\n\ndef g(): pass\n", id="a bracket that goes on at the margin"),
        pytest.param(b"class A:\n\tx: int = 1\n\n\tdef f(self):\n\t\treturn self.x\n\n\ty = 2\n", id="tabs"),
        pytest.param(
            b"class A:\r\n    def f(self):\r\n        return 1\r\n\r\n    z = g(1)\r\n", id="Windows line ends"
        ),
        pytest.param(b"def f():\n    return 1  # no end of line", id="no end"),
        pytest.param(
            b"def f(a):\n    def g(b):\n        return b\n    class C:\n        d = a\n    return g(a)\n", id="nested"
        ),
        pytest.param(b"if x:\n    def f(): ...\nelse:\n    def f(a):\n        return a\n", id="a function twice"),
        pytest.param(
            b"@d(1,\n   2)\nasync def f(a):\n    await a()\n# end\n\n\n# more\nx = 1\n", id="decorated, async"
        ),
        pytest.param(
            b"def f():\n    # first\n    import a.b as c\n    from .d import (e,  # why\n        g)\n    return c\n",
            id="imports",
        ),
        pytest.param(
            b"def f():\n    from a import b, \\\n        c\n    '''\n    import d\n    '''\n", id="a continued import"
        ),
        pytest.param(b"def f():\n    try: import a\n    except ImportError: a = None\n", id="an import behind a colon"),
        pytest.param(
            b"import triton as t\n\n@t.jit\ndef k(a, N: t.language.constexpr):\n    return a + N\n\nk[1](2)\n",
            id="a kernel",
        ),
        pytest.param(
            b"import triton\n\n@triton.jit\ndef k(a):\n    pass\n    # [B]\n# more\n\ndef f(x):\n    k[(1,)](x)\n",
            id="comments below a kernel",
        ),
        pytest.param(
            b"@ours\ndef k(a,\n      N: tl.constexpr):\n    return a\n\ndef f(x):\n    k[(1,)](x, 2)\n", id="a launch"
        ),
    ],
)
def test_what_is_left_out_is_found_when_it_is_asked(text: bytes) -> None:
    assert told(read_from_outline("a.py", text)) == told(read_module("a.py", text))


def test_an_outline_keeps_every_line_at_its_place() -> None:
    function = b"def f(x,\n      y):\n    import b\n\n    return b\n\n\n"
    text = b"import a\n\n" + function + b"class C:\n    def g(self):\n        return 1\n"

    assert outline(text).text.split(b"\n") == [
        b"import a",
        b"",
        b"def f(x,",
        b"      y):",
        b" import b",
        *[b""] * 4,
        b"class C:",
        b"    def g(self):",
        b"     pass",
        b"",
    ]
    assert outline(text).ends == {3: 7, 11: 12}

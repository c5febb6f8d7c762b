"""A function read alone, later, says what it says when it is read with its file."""

from __future__ import annotations

import ast
import json
import warnings
from pathlib import Path

import pytest

from triton_doctor.static.python.functions import FunctionText, ModuleTree, definitions, read_contents
from triton_doctor.static.sources.source_text import SourceText

LIBRARY = Path(json.__file__).parent.parent


def functions(statements: list[ast.stmt]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    found = []
    for node, _ in definitions(statements):
        if not isinstance(node, ast.ClassDef):
            found.append(node)
        found += functions(node.body)
    return found


def differing(source: bytes) -> tuple[int, list[str]]:
    """How many functions `source` has, and the names of those that say something else when they are read alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    found = functions(tree.body)
    text = SourceText(source)
    whole = ModuleTree(tree, text, {})
    return len(found), [
        node.name
        for node in found
        if repr(FunctionText(whole, node).contents) != repr(read_contents(node, text).contents())
    ]


@pytest.mark.parametrize("name", ["argparse", "ast", "dataclasses", "inspect", "turtle", "typing", "asyncio/streams"])
def test_functions_of_the_standard_library(name: str) -> None:
    count, odd = differing((LIBRARY / f"{name}.py").read_bytes())

    assert count > 20
    assert odd == []


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(b"# coding: latin-1\nclass A:\n    def f(self):\n        return '\xe9', g(x)\n", id="encoding"),
        pytest.param(
            b'"""About\ndecoding."""\nif x:\n    def f(a=g(1)):\n        """\nout\n"""\n        return a\n', id="text"
        ),
        pytest.param(b"class A:\r\n\tdef f(self):\r\n\t\treturn g(self)\r\n", id="tabs and Windows line ends"),
        pytest.param(b"def f(): return g(1)\ndef h(): pass", id="one line, and no last line end"),
        pytest.param(b"@d(\n  1)\nasync def f(x):\n    return await x(1)\n", id="async, with a decorator"),
        pytest.param("class A:\n    def f(self): return 'é', g(self)\n".encode(), id="wide characters"),
    ],
)
def test_odd_texts(source: bytes) -> None:
    count, odd = differing(source)

    assert count > 0
    assert odd == []

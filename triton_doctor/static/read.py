"""Python text to Module: the only walk over `ast`."""

from __future__ import annotations

import ast

from triton_doctor.static.model import Module


def read_module(path: str, source: bytes) -> Module:
    """The module at `path`, a path as findings spell it. Raises SyntaxError, ValueError or RecursionError."""
    ast.parse(source)
    return Module(path=path)

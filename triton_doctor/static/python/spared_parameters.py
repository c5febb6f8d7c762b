"""Reads a kernel's body again for the fixes: which constexprs could be plain arguments?"""

from __future__ import annotations

import ast
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.nesting import with_own_stack
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.functions import parse_alone
from triton_doctor.static.python.nodes import parts
from triton_doctor.static.python.plain_parameters import plain_names
from triton_doctor.static.python.steering import steering_names
from triton_doctor.static.sources.source_text import SourceText

if TYPE_CHECKING:
    from triton_doctor.static.python.module import Kernel


class PlainConstexprs(NamedTuple):
    """Constexprs of a kernel: those in `plain` could be plain arguments.

    Those also in `steering` need no specialization either.
    """

    plain: frozenset[str]
    steering: frozenset[str]


@cached_in_scan(most=32)
def find_plain_constexprs(kernel: Kernel, source: bytes) -> PlainConstexprs:
    """Analyse the constexprs of `kernel`, read from `source`. Empty if the kernel is too deeply nested."""
    try:
        return with_own_stack(_find_plain_constexprs, kernel, source)
    except RecursionError:
        return PlainConstexprs(frozenset(), frozenset())


def _find_plain_constexprs(kernel: Kernel, source: bytes) -> PlainConstexprs:
    node = parse_alone(_lines(source), kernel.line, kernel.span.end_line, indented=kernel.span.column > 1)
    assert isinstance(node, ast.FunctionDef)
    constexprs = frozenset(param.name for param in kernel.params if param.is_constexpr)
    every = tuple(chain.from_iterable(map(parts, node.body)))
    plain = plain_names(node, every, constexprs - kernel.uses.needed.keys(), constexprs)
    return PlainConstexprs(plain, steering_names(every, plain))


@cached_in_scan(most=1)
def _lines(source: bytes) -> SourceText:
    """Split a file into lines; cached, since kernels of one file are analysed one after the other."""
    return SourceText(source)

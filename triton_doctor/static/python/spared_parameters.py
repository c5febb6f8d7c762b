"""Kernels to what a fix asks of their bodies: read a second time, since most kernels need no fix."""

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


class Spared(NamedTuple):
    """Constexprs of a kernel: for those that are `plain`, plain arguments would do.

    Those of them that are `steering` need not even be specialized on.
    """

    plain: frozenset[str]
    steering: frozenset[str]


@cached_in_scan(most=32)
def spared(kernel: Kernel, source: bytes) -> Spared:
    """What `source`, the file that `kernel` was read from, says of its constexprs: nothing where it is too nested."""
    try:
        return with_own_stack(_spared, kernel, source)
    except RecursionError:
        return Spared(frozenset(), frozenset())


def _spared(kernel: Kernel, source: bytes) -> Spared:
    node = parse_alone(_lines(source), kernel.line, kernel.span.end_line, indented=kernel.span.column > 1)
    assert isinstance(node, ast.FunctionDef)
    constexprs = frozenset(param.name for param in kernel.params if param.is_constexpr)
    every = tuple(chain.from_iterable(map(parts, node.body)))
    plain = plain_names(node, every, constexprs - kernel.uses.needed.keys(), constexprs)
    return Spared(plain, steering_names(every, plain))


@cached_in_scan(most=1)
def _lines(source: bytes) -> SourceText:
    """The file whose kernels are asked about one after the other, split into lines once."""
    return SourceText(source)

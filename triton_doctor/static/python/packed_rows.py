"""Counts of sequences that are the batch, or else the number of offsets less one: then all sequences are in one row."""

from __future__ import annotations

import ast


def packed_row(value: ast.expr) -> ast.expr | None:
    """Return what `value` implies of the batch, as a test: `offsets is None or batch == 1`.

    `batch if offsets is None else len(offsets) - 1` counts the sequences. Where offsets are given, they tell the
    sequences of one row apart: a row of its own would need no offsets. Returns None for any other value.
    """
    match value:
        case ast.IfExp(
            test=ast.Compare(
                left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]
            )
        ):
            batch, count = (value.body, value.orelse) if isinstance(op, ast.Is) else (value.orelse, value.body)
        case _:
            return None
    if not (isinstance(batch, ast.Name) and _is_number_of_sequences(count, name)):
        return None
    is_none = ast.Compare(ast.Name(name), [ast.Is()], [ast.Constant(None)])
    return ast.BoolOp(ast.Or(), [is_none, ast.Compare(batch, [ast.Eq()], [ast.Constant(1)])])


def _is_number_of_sequences(count: ast.expr, offsets: str) -> bool:
    """Return whether `count` is the length of `offsets` less one."""
    match count:
        case ast.BinOp(left=length, op=ast.Sub(), right=ast.Constant(value=1)):
            pass
        case _:
            return False
    match length:
        case (
            ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=of)])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="numel"), args=[])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="size"), args=[ast.Constant(value=0)])
            | ast.Subscript(value=ast.Attribute(value=ast.Name(id=of), attr="shape"), slice=ast.Constant(value=0))
        ):
            return of == offsets
        case _:
            return False

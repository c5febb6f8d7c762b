"""The arguments of calls in a kernel that Triton must know while it compiles, each with the reason."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Why a kernel needs a value at compile time. If there are several reasons, the first in this order counts.
BLOCK, UNROLLED, OTHER, BRANCH = "block", "unrolled", "other", "branch"
REASONS = (BLOCK, UNROLLED, OTHER, BRANCH)
# Functions that need all of their arguments at compile time.
_WHOLE = {"arange": BLOCK, "static_range": UNROLLED, "static_assert": OTHER}
# Functions that need their shape at compile time: the position of that argument, and its keyword.
_SHAPED: dict[str, tuple[int, str]] = {
    "zeros": (0, "shape"),
    "full": (0, "shape"),
    "empty": (0, "shape"),
    "reshape": (1, "shape"),
    "view": (1, "shape"),
    "broadcast_to": (1, "shape"),
    "make_block_ptr": (4, "block_shape"),
    "make_tensor_descriptor": (3, "block_shape"),
}
_SHAPED_METHODS = frozenset({"reshape", "view", "broadcast_to"})
_NEEDING = frozenset({*_WHOLE, *_SHAPED, "to", "topk"})
_KEYWORDS = {"dtype": OTHER, "num_stages": OTHER, "warp_specialize": OTHER, "axis": OTHER, "block_shape": BLOCK}


def needs_of(call: ast.Call, callee: str | None) -> Iterable[tuple[ast.expr, str]]:
    """Return the arguments of `call` that are needed at compile time, with reasons.

    `callee` is the function's last name.
    """
    return _needs_of(call, callee) if call.keywords or callee in _NEEDING else ()


def _needs_of(call: ast.Call, callee: str | None) -> Iterator[tuple[ast.expr, str]]:
    keywords = (
        {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None} if call.keywords else {}
    )
    if callee in _WHOLE:
        yield from ((value, _WHOLE[callee]) for value in (*call.args, *keywords.values()))
    elif callee in _SHAPED:
        position, name = _SHAPED[callee]
        if callee in _SHAPED_METHODS:
            shapes = call.args[1:] if is_of_language(call.func) else call.args
        else:
            shapes = call.args[position : position + 1]
        yield from ((value, BLOCK) for value in shapes)
        if name in keywords:
            yield keywords[name], BLOCK
    elif callee == "to" and call.args and not _is_a_dtype_at_hand(call.args[0]):
        yield call.args[0], OTHER
    elif callee == "topk":
        yield from ((value, OTHER) for value in call.args[1:2])
        if "k" in keywords:
            yield keywords["k"], OTHER
    for name, value in keywords.items():
        if name in _KEYWORDS and not _is_a_dtype_at_hand(value):
            yield value, _KEYWORDS[name]


def is_of_language(func: ast.expr) -> bool:
    """Return whether it is `tl.reshape` or `tl.math.exp`, not a method: the first argument is then a tensor."""
    match func:
        case ast.Attribute(ast.Name("tl" | "language") | ast.Attribute(attr="language")):
            return True
        case ast.Attribute(ast.Attribute(attr="math") as base):
            return is_of_language(base)
        case _:
            return False


def needs_of_local(node: ast.AnnAssign) -> Iterator[tuple[ast.expr, str]]:
    """Yield the parts of a local that is declared a constexpr, such as `pids: tl.constexpr = n * 2`."""
    if node.value is not None and "constexpr" in ast.unparse(node.annotation):
        yield node.value, OTHER


def _is_a_dtype_at_hand(value: ast.expr) -> bool:
    """Return whether `value` is `tl.float32` or `out.dtype.element_ty`, which Triton knows in any case."""
    return isinstance(value, ast.Attribute)

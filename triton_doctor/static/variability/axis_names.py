"""What a function calls the axes of its arguments, and how many there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.conditions import name_of_rank
from triton_doctor.static.python.ir import Attr, Call, Const, Name, Star, Subscript, TupleExpr, Unpacked, children
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.models.torch import ALLOCATING, KEEPING, NEW
from triton_doctor.static.variability.name_words import names_heads, names_model, names_part, names_weight_gradient

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr


# The axes of an activation whose heads stand apart. That fewer are asked for does not say that there are no more.
_WITH_HEADS = 4
_NEVER = 1 << 30
# Expressions that may be an axis.
_READING = frozenset({Unpacked, Subscript, Call})
# What asking for the fourth axis, or one behind it, looks like.
_BETWEEN = rb"(?:[\s\\(]|#[^\n]*\n)*"
_FOURTH = re.compile(_BETWEEN + rb"[\[(]" + _BETWEEN + rb"(?:[3-9]|\d\w)")
_ASKING = [TextPattern(word, after=_FOURTH) for word in ("shape", "size", "stride")]


def named_axes(function: Function, name: str) -> tuple[str, ...]:
    """The names of the axes of the argument `name`, empty where there is none; none where their number is not said."""
    return _all_named(function).get(name, ())


def names_many(function: Function) -> bool:
    """Whether the function shows an argument with four axes or more."""
    return any(len(names) >= _WITH_HEADS for names in _all_named(function).values())


def beside_heads(names: tuple[str, ...]) -> Iterator[int]:
    """Of `batch, heads, length, dim` or `batch, length, heads, dim`, the axis that is the length."""
    if len(names) == _WITH_HEADS:
        for here, other in ((1, 2), (2, 1)):
            own = names[here]
            if names_heads(names[other]) and not (names_model(own) or names_part(own)):
                yield here


@cached_in_scan()
def _all_named(function: Function) -> dict[str, tuple[str, ...]]:
    asserted = _asserted_ranks(function)
    if not (asserted or function.holds(b"shape") or function.holds(b"size") or function.holds(b"stride")):
        return {}
    names: dict[str, dict[int, str]] = {}
    counts: dict[str, set[int]] = {}
    for bindings in function.bindings.values():
        for binding in bindings:
            read = read_axis(_spelled_out(binding.value, function)) if type(binding.value) in _READING else None
            if read is not None and binding.order <= _rebound(function, read.tensor):
                names.setdefault(read.tensor, {}).setdefault(read.position, binding.name)
                if read.rank is not None:
                    counts.setdefault(read.tensor, set()).add(read.rank)
    if any(function.shows(sign) for sign in _ASKING):
        for tensor, count in _asked_for(function):
            counts.setdefault(tensor, {count})
    counts.update((tensor, {count}) for tensor, count in asserted.items())
    # What is unpacked into three here and into two there has no number of axes of its own.
    known = ((tensor, found.pop()) for tensor, found in counts.items() if len(found) == 1)
    return {tensor: tuple(names.get(tensor, {}).get(at, "") for at in range(count)) for tensor, count in known}


def _asserted_ranks(function: Function) -> dict[str, int]:
    """The number of axes of arguments without which the function fails, whatever they are: `assert x.dim() == 2`."""
    if not (
        (function.holds(b"dim") or function.holds(b"len(")) and (function.holds(b"assert") or function.holds(b"raise"))
    ):
        return {}
    found = {}
    for param in function.params:
        for limit in function.limits.get(name_of_rank(param.name), ()):
            is_of_all = not limit.arms and limit.left == 0 and len(limit.choices) == 1
            if is_of_all and limit.order <= _rebound(function, param.name):
                found[param.name] = limit.choices[0]
    return found


def _spelled_out(value: Expr, function: Function) -> Expr:
    """`value`, with the shape that it reads: `shape = x.shape`, `B, T = shape`."""
    match value:
        case Unpacked(Name(name)) | Subscript(Name(name), Const(int())):
            match [one.value for one in function.bindings.get(name, ())]:
                case [Attr(Name(), "shape") | Call(Attr(Name(), "size"), (), ()) as shape]:
                    if isinstance(value, Unpacked):
                        return value._replace(value=shape)
                    return value._replace(base=shape) if isinstance(shape, Attr) else value
                case _:
                    pass
        case _:
            pass
    return value


class ReadAxis(NamedTuple):
    """An axis of a tensor, and how many it has, where that is told."""

    tensor: str
    position: int
    rank: int | None


def read_axis(value: Expr) -> ReadAxis | None:
    """The axis that `value` reads: by unpacking a shape, also one that is starred in a display, or by its number."""
    match value:
        case Unpacked(Attr(Name(base), "shape") | Call(Attr(Name(base), "size"), (), ()), int(at), size, False):
            return ReadAxis(base, at % size, size)
        case Unpacked(TupleExpr(items), int(at), size, False) if (starred := _starred_shape(items)) is not None:
            base, start = starred
            count = size - len(items) + 1
            return ReadAxis(base, at % size - start, count) if start <= at % size < start + count else None
        case Subscript(Attr(Name(base), "shape"), Const(int(at))) | Call(Attr(Name(base), "size"), (Const(int(at)),)):
            return ReadAxis(base, at, None)
        case _:
            return None


def _starred_shape(items: Sequence[Expr]) -> tuple[str, int] | None:
    """The tensor whose shape is the only star in a display, and the position of the star: `*k.shape, v.shape[-1]`."""
    stars = [(at, item.value) for at, item in enumerate(items) if isinstance(item, Star)]
    match stars:
        case [(at, Attr(Name(base), "shape"))]:
            return base, at
        case _:
            return None


def _asked_for(function: Function) -> Iterator[tuple[str, int]]:
    """The number of axes of what has four or more of them asked for by number: `q.stride(3)`."""
    asked: dict[str, int] = {}
    for expr in expressions(function):
        match expr:
            case Subscript(Attr(Name(base), "shape"), Const(int(at))) | Call(
                Attr(Name(base), "size" | "stride"), (Const(int(at)),)
            ):
                asked[base] = max(asked.get(base, 0), at + 1)
            case Attr(Name(base), "ndim" | "dim"):
                # It has this many or that many.
                asked[base] = _NEVER
            case _:
                pass
    for base, count in asked.items():
        if _WITH_HEADS <= count < _NEVER and _rebound(function, base) == _NEVER:
            yield base, count


def expressions(function: Function) -> Iterator[Expr]:
    """All expressions of assignments, launches, calls and returns, each once."""
    pending = [one.value for bindings in function.bindings.values() for one in bindings]
    for launch in function.launches:
        pending += [argument.value for argument in launch.arguments]
    pending += [site.call for site in function.calls]
    pending += [one.value for one in function.returns]
    seen: set[int] = set()  # calls stand in assignments, in arguments, and for themselves
    while pending:
        expr = pending.pop()
        if id(expr) not in seen:
            seen.add(id(expr))
            yield expr
            pending.extend(children(expr))


def _rebound(function: Function, name: str) -> int:
    """The first event of `function` that binds its argument's name anew."""
    anew = (one.order for one in function.bindings.get(name, ()) if not keeps_shape(one.value, name))
    return min(anew, default=_NEVER)


def keeps_shape(value: Expr, name: str) -> bool:
    """Whether `name = value` leaves the shape as it was: `x = x.contiguous()`."""
    match value:
        case Call(Attr(Name(base), method), _, _):
            return base == name and (method in KEEPING or method == "contiguous")
        case _:
            return False


@cached_in_scan()
def allocated_axes(function: Function, name: str) -> tuple[str, ...]:
    """The names that give the axes of `name` their sizes, `x = torch.zeros((batch, length))`; empty for no name."""
    match [one.value for one in function.bindings.get(name, ())]:
        case [Call(Attr(_, made) | Name(made)) as call] if made in ALLOCATING or made in NEW:
            return tuple(size.id if isinstance(size, Name) else "" for size in _written_sizes(call))
        case _:
            return ()


@cached_in_scan()
def output_widths(function: Function) -> frozenset[str]:
    """`N` of `torch.empty((M, N))` and of `x.new_empty(*x.shape[:-1], N)`."""
    found = (_width(site.call) for site in function.calls)
    return frozenset(name for name in found if name is not None)


@cached_in_scan()
def weight_sizes(function: Function) -> frozenset[str]:
    """`N` and `K` of `grad_weight = torch.empty((splits, N, K))`: the first axis may be that of partial sums."""
    return frozenset(
        size.id
        for name, bindings in function.bindings.items()
        if names_weight_gradient(name)
        for binding in bindings
        if isinstance(binding.value, Call) and _allocates(binding.value)
        for size in _written_sizes(binding.value)[1:]
        if isinstance(size, Name)
    )


def _allocates(call: Call) -> bool:
    match call.func:
        case Attr(_, name) | Name(name):
            return name in ALLOCATING or name in NEW
        case _:
            return False


def _width(call: Call) -> str | None:
    sizes = _written_sizes(call) if _allocates(call) else ()
    return sizes[1].id if len(sizes) == 2 and isinstance(sizes[1], Name) else None


def _written_sizes(call: Call) -> tuple[Expr, ...]:
    """The sizes that an allocation is given, one by one or in a display."""
    return call.args[0].items if call.args and isinstance(call.args[0], TupleExpr) else call.args

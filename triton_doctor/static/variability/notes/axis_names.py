"""The names that a function gives to the axes of its arguments, and their number."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.bounds import name_of_rank
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Comprehension,
    Const,
    Name,
    Star,
    Subscript,
    TupleExpr,
    Unpacked,
    children,
)
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.hints.name_words import names_heads, names_model, names_part
from triton_doctor.static.variability.models.torch import KEEPING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr

# An activation with separate heads has four axes. Access to fewer does not mean that there are no more.
_WITH_HEADS, _NEVER = 4, 1 << 30
_CHUNK_COUNTS = frozenset("n N nc NC nt NT n_chunks num_chunks nchunks".split())
_CHUNK_SIZES = frozenset("c C cs CS bt BT l chunk chunk_size chunk_len".split())
# With so many axes named one by one, the names tell what each is, as those of an unpacking do.
_LEADING = 3
# Kinds of expressions that may read an axis.
_READING = frozenset({Unpacked, Subscript, Call})
# The text of an access to the fourth axis or a later one.
_BETWEEN = rb"(?:[\s\\(]|#[^\n]*\n)*"
_FOURTH = re.compile(_BETWEEN + rb"[\[(]" + _BETWEEN + rb"(?:[3-9]|\d\w)")
_ASKING = [TextPattern(word, after=_FOURTH) for word in ("shape", "size", "stride")]


def named_axes(function: Function, name: str) -> tuple[str, ...]:
    """Return the names of the axes of the argument `name`, "" for an unnamed axis; empty if their number is unknown."""
    return _all_named(function).get(name, ())


def beside_heads(names: tuple[str, ...]) -> Iterator[int]:
    """Yield the axis of the length in `batch, heads, length, dim` or `batch, length, heads, dim`."""
    if len(names) == _WITH_HEADS:
        for here, other in ((1, 2), (2, 1)):
            own = names[here]
            if names_heads(names[other]) and not (names_model(own) or names_part(own) or are_twins(own, names[-1])):
                yield here


def are_twins(name: str, other: str) -> bool:
    """Return whether two axes have one name but for a number: `N` and `N2` are the sides of a square state."""
    return name.rstrip("_0123456789") == other.rstrip("_0123456789") != ""


def counts_of_chunks(axes: Sequence[str]) -> Iterator[int]:
    """Yield the axes that count chunks, followed by the length of a chunk: `NC` of `batch, heads, NC, CS, dim`."""
    for at in range(1, len(axes) - 1) if len(axes) > _WITH_HEADS else ():
        if axes[at].strip("_") in _CHUNK_COUNTS and axes[at + 1].strip("_") in _CHUNK_SIZES:
            yield at


def least_rank(function: Function, name: str) -> int:
    """Return the number of axes that the argument `name` has at least, by the axes that the function reads."""
    read = filter(None, map(read_axis, expressions(function)))
    return max((axis.position + 1 for axis in read if axis.tensor == name), default=0)


def leading_axes(function: Function, name: str) -> tuple[str, ...]:
    """Return the names of the first axes of the argument `name`, if each is read by number, of an unknown count."""
    found = _names_read(function)
    names = found.names.get(name, {}) if name not in found.counts else {}
    if len(names) < _LEADING or min(names) < 0 or max(names) >= len(names):
        return ()
    return tuple(names[at] for at in range(len(names)))


def axes_read(function: Function, name: str) -> Mapping[int, str]:
    """Return the names that the function gives to axes of the argument `name`, by position, also from the end."""
    return _names_read(function).names.get(name, {})


class _NamesRead(NamedTuple):
    """For each argument, the name of each axis that is read, and the numbers of axes that code implies."""

    names: dict[str, dict[int, str]]
    counts: dict[str, set[int]]


@cached_in_scan()
def _all_named(function: Function) -> dict[str, tuple[str, ...]]:
    names, counts = _names_read(function)
    # An argument that is unpacked into three here and two there has no fixed number of axes.
    known = ((tensor, max(found)) for tensor, found in counts.items() if len(found) == 1)
    return {tensor: tuple(names.get(tensor, {}).get(at, "") for at in range(count)) for tensor, count in known}


@cached_in_scan()
def _names_read(function: Function) -> _NamesRead:
    asserted = _asserted_ranks(function)
    if not (asserted or function.holds(b"shape") or function.holds(b"size") or function.holds(b"stride")):
        return _NamesRead({}, {})
    names: defaultdict[str, dict[int, list[str]]] = defaultdict(dict)
    counts: dict[str, set[int]] = {}
    for binding in chain.from_iterable(function.bindings.values()):
        read = read_axis(_spelled_out(binding.value, function)) if type(binding.value) in _READING else None
        if read is not None and binding.order <= _rebound(function, read.tensor):
            names[read.tensor].setdefault(read.position, []).append(binding.name)
            if read.rank is not None:
                counts.setdefault(read.tensor, set()).add(read.rank)
    if any(function.matches(pattern) for pattern in _ASKING):
        for tensor, count in _asked_for(function):
            counts.setdefault(tensor, {count})
    counts.update((tensor, {count}) for tensor, count in asserted.items())
    return _NamesRead({tensor: _agreed(found) for tensor, found in names.items()}, counts)


def _agreed(names: Mapping[int, Sequence[str]]) -> dict[int, str]:
    """Return the first name of each axis; "" if one of its names is also that of another axis, in another layout."""
    places = Counter(name for found in names.values() for name in set(found) if name.strip("_"))
    return {at: "" if any(places[name] > 1 for name in found) else found[0] for at, found in names.items()}


@cached_in_scan()
def unpacked_together(function: Function, line: int) -> tuple[str, ...]:
    """Return the names that a line of `function` unpacks one shape of two axes or more into; empty if it does not."""
    found: dict[int, str] = {}
    sizes = set[int]()
    for name, bindings in function.bindings.items():
        for binding in bindings:
            match binding.value:
                case Unpacked(_, int(position), size, False) as value if binding.line == line:
                    if not _is_shape(_spelled_out(value, function)):
                        return ()
                    found[position] = name
                    sizes.add(size)
                case _:
                    pass
    if len(sizes) != 1 or len(found) < max(sizes):
        return ()
    return tuple(found[at] for at in sorted(found))


def _is_shape(value: Expr) -> bool:
    match value:
        case Unpacked(Attr(_, "shape") | Call(Attr(_, "size"), (), ())):
            return True
        case _:
            return False


def _asserted_ranks(function: Function) -> dict[str, int]:
    """Return the numbers of axes without which the function fails: `assert x.dim() == 2`."""
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
    """Return `value` with the shape it reads filled in: for `shape = x.shape; B, T = shape`, or `map(int, x.shape)`."""
    match value:
        case Call(Name("int"), (Subscript() | Call() as axis,), ()):
            return axis
        case Unpacked(TupleExpr(items), int(at), _, False) if not any(isinstance(item, Star) for item in items):
            return _spelled_out(items[at], function) if at < len(items) else value
        case Unpacked(of) if (shape := _of_integers(of)) is not None:
            return value._replace(value=shape)
        case Unpacked(Name(name)) | Subscript(Name(name), Const(int())):
            match [binding.value for binding in function.bindings.get(name, ())]:
                case [Attr(Name(), "shape") | Call(Attr(Name(), "size"), (), ()) as shape]:
                    if isinstance(value, Unpacked):
                        return value._replace(value=shape)
                    return value._replace(base=shape) if isinstance(shape, Attr) else value
                case _:
                    pass
        case _:
            pass
    return value


def _of_integers(value: Expr) -> Expr | None:
    """Return the shape inside `map(int, x.shape)`, `[int(n) for n in x.shape]` or `tuple(x.shape)`."""
    match value:
        case Call(Name("map"), (Name("int"), shape), ()) | Call(Name("list" | "tuple"), (shape,), ()):
            return shape
        case Comprehension(Call(Name("int"), (Name(item),), ()), (((name,), shape, False),)) if item == name:
            return shape
        case _:
            return None


class ReadAxis(NamedTuple):
    """An axis of a tensor, and the number of its axes, if known."""

    tensor: str
    position: int
    rank: int | None


def read_axis(value: Expr) -> ReadAxis | None:
    """Return the axis that `value` reads: by unpacking a shape, possibly starred in a display, or by its number."""
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
    """Return the tensor and position of the only star in a display, if it is a shape: `*k.shape, v.shape[-1]`."""
    stars = [(at, item.value) for at, item in enumerate(items) if isinstance(item, Star)]
    match stars:
        case [(at, Attr(Name(base), "shape"))]:
            return base, at
        case _:
            return None


def _asked_for(function: Function) -> Iterator[tuple[str, int]]:
    """Yield arguments with access to a fourth axis or a later one, with the number of axes: `q.stride(3)`."""
    asked: dict[str, int] = {}
    for expr in expressions(function):
        match expr:
            case Subscript(Attr(Name(base), "shape"), Const(int(at))) | Call(
                Attr(Name(base), "size" | "stride"), (Const(int(at)),)
            ):
                asked[base] = max(asked.get(base, 0), at + 1)
            case Attr(Name(base), "ndim" | "dim"):
                # The number of axes differs.
                asked[base] = _NEVER
            case _:
                pass
    for base, count in asked.items():
        if _WITH_HEADS <= count < _NEVER and _rebound(function, base) == _NEVER:
            yield base, count


def expressions(function: Function) -> Iterator[Expr]:
    """Yield all expressions of assignments, launches, calls and returns, each once."""
    pending = [binding.value for bindings in function.bindings.values() for binding in bindings]
    for launch in function.launches:
        pending += [argument.value for argument in launch.arguments]
    pending += [site.call for site in function.calls]
    pending += [returned.value for returned in function.returns]
    seen: set[int] = set()  # calls occur in assignments, in arguments, and by themselves
    while pending:
        expr = pending.pop()
        if id(expr) not in seen:
            seen.add(id(expr))
            yield expr
            pending.extend(children(expr))


def _rebound(function: Function, name: str) -> int:
    """Return the first event of `function` that rebinds its argument `name`."""
    rebound = (binding.order for binding in function.bindings.get(name, ()) if not keeps_shape(binding.value, name))
    return min(rebound, default=_NEVER)


def keeps_argument(function: Function, name: str) -> bool:
    """Return whether `function` never binds its argument's name to something of another shape."""
    return _rebound(function, name) == _NEVER


def keeps_shape(value: Expr, name: str) -> bool:
    """Return whether `name = value` keeps the shape: `x = x.contiguous()`, `x, y = x.contiguous(), y + 1`."""
    match value:
        case Call(Attr(Name(base), method), _, _):
            return base == name and (method in KEEPING or method == "contiguous")
        case Unpacked(TupleExpr(items), int(position), _, False) if position < len(items):
            stars = any(isinstance(item, Star) for item in items)
            return not stars and (items[position] == Name(name) or keeps_shape(items[position], name))
        case _:
            return False

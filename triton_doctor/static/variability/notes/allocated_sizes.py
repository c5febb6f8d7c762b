"""Finds the names of sizes by which a function allocates and views tensors, and the axis that each sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Attr, Call, Name, TupleExpr
from triton_doctor.static.variability.hints.name_words import names_part, names_weight, names_weight_gradient
from triton_doctor.static.variability.models.torch import ALLOCATING, NEW

if TYPE_CHECKING:
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr

# A tensor with a single axis may be a vector of features.
_SEVERAL = 2
# With so many named sizes, the names together tell what each axis is.
_TELLING = 3


@cached_in_scan()
def allocated_axes(function: Function, name: str) -> tuple[str, ...]:
    """Return the names of the sizes in `x = torch.zeros((batch, length))` for `name` `x`.

    Empty unless all are names.
    """
    match [one.value for one in function.bindings.get(name, ())]:
        case [Call(Attr(_, made) | Name(made)) as call] if made in ALLOCATING or made in NEW:
            return tuple(size.id if isinstance(size, Name) else "" for size in _written_sizes(call))
        case _:
            return ()


@cached_in_scan()
def output_widths(function: Function) -> frozenset[str]:
    """Return `N` of `torch.empty((M, N))` and of `x.new_empty(*x.shape[:-1], N)`: sizes of last axes."""
    found = (_width(site.call) for site in function.calls)
    return frozenset(name for name in found if name is not None)


@cached_in_scan()
def first_sizes(function: Function) -> frozenset[str]:
    """Return `n` of `torch.empty((n, heads, dim))` and `x.view(n, -1)`, except for tensors that live as
    long as the model.
    """
    first, later = set[str](), set[str]()
    named = _names_of_values(function)
    for site in function.calls:
        sizes = _sizes_given(site.call)
        if len(sizes) < _SEVERAL or names_weight(named.get(id(site.call), "")):
            continue
        first |= {size.id for size in sizes[:1] if isinstance(size, Name)}
        later |= {size.id for size in sizes[1:] if isinstance(size, Name)}
    return frozenset(name for name in first - later if not names_part(name))


def _sizes_given(call: Call) -> tuple[Expr, ...]:
    """Return the sizes with which `call` allocates a tensor or views an activation."""
    match call.func:
        case Attr(Name(base), "view" | "reshape") if not names_weight(base):
            return _written_sizes(call)
        case _:
            return _written_sizes(call) if _allocates(call) else ()


@cached_in_scan()
def shapes_spelled(function: Function) -> tuple[tuple[str, ...], ...]:
    """Return the names of the sizes of each allocation with three named sizes or more, except for weights."""
    named = _names_of_values(function)
    found = []
    for site in function.calls:
        sizes = _written_sizes(site.call) if _allocates(site.call) else ()
        if len(sizes) >= _TELLING and not names_weight(named.get(id(site.call), "")):
            names = tuple(size.id for size in sizes if isinstance(size, Name))
            if len(set(names)) == len(sizes):
                found.append(names)
    return tuple(found)


@cached_in_scan()
def weight_sizes(function: Function) -> frozenset[str]:
    """Return `N` and `K` of `grad_weight = torch.empty((splits, N, K))`; the first axis may be one of partial sums."""
    return frozenset(
        size.id
        for name, bindings in function.bindings.items()
        if names_weight_gradient(name)
        for binding in bindings
        if isinstance(binding.value, Call) and _allocates(binding.value)
        for size in _written_sizes(binding.value)[1:]
        if isinstance(size, Name)
    )


def _names_of_values(function: Function) -> dict[int, str]:
    """Return the name that each value is bound to, by the `id` of its expression."""
    return {id(one.value): name for name, found in function.bindings.items() for one in found}


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
    """Return the sizes passed to an allocation, one by one or in a display."""
    return call.args[0].items if call.args and isinstance(call.args[0], TupleExpr) else call.args

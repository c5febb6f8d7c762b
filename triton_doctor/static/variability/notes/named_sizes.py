"""Hints from the name that a size is bound to, and from the sizes that allocations name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Const,
    Name,
    Subscript,
    TupleExpr,
    Unpacked,
)
from triton_doctor.static.variability.hints.axis_context import AxisContext, Side
from triton_doctor.static.variability.hints.hints import LAST_AXIS, apply_hints
from triton_doctor.static.variability.hints.name_words import (
    names_elements,
    names_features,
    names_part,
    names_stride,
    names_weight,
    names_weight_gradient,
    others_of,
)
from triton_doctor.static.variability.models.torch import ALLOCATING, NEW
from triton_doctor.static.variability.notes.axis_names import (
    beside_heads,
    keeps_argument,
    named_axes,
    read_axis,
    unpacked_together,
)
from triton_doctor.static.variability.notes.shape_notes import note_of_unpacking
from triton_doctor.static.variability.values.dims import Dim, DimProduct
from triton_doctor.static.variability.values.lattice import AbstractNumber, Variability

if TYPE_CHECKING:
    from triton_doctor.static.python.function import Binding, Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.values.values import CallFrame

# `N, K = b.shape` beside the `M` rows of an input: a product of matrices names the weight's axes so.
_AXES_OF_WEIGHT = ("N", "K")


def hint_from_binding(number: AbstractNumber, binding: Binding, frame: CallFrame) -> AbstractNumber:
    """Return `number` with the hints of the name that `binding` gives it in the function of `frame`."""
    if number.kind is not Variability.UNKNOWN:
        return number
    if number.size is not None:
        side = _side(binding, frame)
        number = hint_from_name(number, binding.name, frame.module.path, binding.line, side)
        number = _hint_from_output(number, binding.name, frame)
        number = _hint_from_unpacking(number, binding, frame)
    elif not number.one_for_some_caller:
        number = _hint_of_several(number, binding, frame)
        if number.undecided_dims and names_features(binding.name) and _reads_axis(binding.value):
            features = AxisContext(name=binding.name)
            number = number.add_hints(apply_hints(features, frame.module.path, binding.line))
    return _hint_from_weight(number, binding.name, frame)


def hint_from_name(number: AbstractNumber, name: str, path: str, line: int, side: Side | None = None) -> AbstractNumber:
    """Return an axis with the hints of its name from `line` of `path` on: `n_rows`, `head_dim`."""
    if number.kind is not Variability.UNKNOWN or names_stride(name):
        return number
    if number.size is None or len(number.size.over) != 1 or number.size.under:
        # A product follows the model if all factors do; its name says nothing about a product that follows the data.
        is_named = names_elements(name) or (number.size is not None and names_features(name))
        return number.add_hints(apply_hints(AxisContext(name=name), path, line)) if is_named else number
    (atom,) = number.size.over
    is_end = isinstance(atom, Dim) and atom.position in (-1, (atom.root.rank or 0) - 1)
    named = AxisContext(name=name, is_axis=True, is_end=is_end, side=side)
    return number.add_hints(apply_hints(named, path, line))


def _hint_of_several(number: AbstractNumber, binding: Binding, frame: CallFrame) -> AbstractNumber:
    """Return an axis of one of several tensors, as in `x = x.to_local()` in a branch, then `rows = x.shape[0]`."""
    axis, function = read_axis(binding.value), frame.function
    if axis is None or keeps_argument(function, axis.tensor):
        return number
    made = (binding.value for binding in function.bindings.get(axis.tensor, ()))
    if any(isinstance(expr, Call) and expr == Call(expr.func, (Const(axis.position),), ()) for expr in made):
        return number  # one of the tensors has size 1 there: `cos = cos.unsqueeze(0)`
    named = AxisContext(name=binding.name, is_axis=True, is_end=axis.position in (-1, (axis.rank or 0) - 1))
    return number.add_hints(apply_hints(named, frame.module.path, binding.line))


def _hint_from_output(number: AbstractNumber, name: str, frame: CallFrame) -> AbstractNumber:
    """Add a hint towards the model to axis 0 of a weight `(N, K)` if an output `(M, N)` has that width."""
    match number.size:
        case DimProduct((Dim(_, 0),), ()) if name in output_widths(frame.function):
            width = AxisContext(name=name, is_output_width=True)
            return number.add_hints(apply_hints(width, frame.module.path, frame.function.line))
        case _:
            return number


def _hint_from_unpacking(number: AbstractNumber, binding: Binding, frame: CallFrame) -> AbstractNumber:
    """Return one axis of a shape, with what the names of its unpacking say together."""
    match number.size, binding.value:
        case DimProduct((Dim(root, _),), ()), Unpacked(_, int(position), _, False) if root.note is None:
            names = unpacked_together(frame.function, binding.line)
        case _:
            return number
    is_argument = any(param.name == root.name for param in frame.function.params)
    if is_argument and not (named_axes(frame.function, root.name) or keeps_argument(frame.function, root.name)):
        return number  # the function reshapes it: `x = x.unsqueeze(-1)`
    if names == _AXES_OF_WEIGHT and position == 0:
        of_weight = AxisContext(is_weight_row=True)
        return number.add_hints(apply_hints(of_weight, frame.module.path, binding.line))
    note = note_of_unpacking(frame.function, names)
    if note is None:
        return number
    context = AxisContext(unpacked=note.toward(position), is_beside_heads=position in beside_heads(names))
    number = number if context.unpacked is None else number.without(LAST_AXIS)  # names outrank the position
    return number.add_hints(apply_hints(context, frame.module.path, binding.line))


def _hint_from_weight(number: AbstractNumber, name: str, frame: CallFrame) -> AbstractNumber:
    """Return a size with which the function allocates the gradient of a weight."""
    if name not in weight_sizes(frame.function):
        return number
    sized = AxisContext(name=name, is_weight_size=True)
    return number.add_hints(apply_hints(sized, frame.module.path, frame.function.line))


def _side(binding: Binding, frame: CallFrame) -> Side | None:
    """Return the side of an image that an axis is named as, if the other is bound to an axis of the same shape."""
    sides = others_of(binding.name)
    shape = _shape_of(binding.value) if sides else None
    for side, names in sides if shape is not None else ():
        others = (other.value for name in names for other in frame.function.bindings.get(name, ()))
        if any(_shape_of(other) == shape for other in others):
            return side
    return None


def _reads_axis(value: Expr) -> bool:
    """Return whether `value` is one axis of a shape, possibly as `int(x.shape[1])`."""
    match value:
        case Call(Name("int"), (inner,), ()):
            return _shape_of(inner) is not None
        case _:
            return _shape_of(value) is not None


def _shape_of(value: Expr) -> Expr | None:
    """Return the shape or list of sizes that `value` is an item of."""
    match value:
        case Unpacked(of) | Subscript(of, Const(int())):
            return of
        case _:
            return None


# A tensor with a single axis may be a vector of features.
_SEVERAL = 2
# With so many named sizes, the names together tell what each axis is.
_TELLING = 3


@cached_in_scan()
def allocated_axes(function: Function, name: str) -> tuple[str, ...]:
    """Return the names of the sizes in `x = torch.zeros((batch, length))` for `name` `x`.

    Empty unless all are names.
    """
    match [binding.value for binding in function.bindings.get(name, ())]:
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
    """Return `n` of `torch.empty((n, heads))` and `x.view(n, -1)`, except where tensors live as long as the model."""
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
    return {id(binding.value): name for name, found in function.bindings.items() for binding in found}


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

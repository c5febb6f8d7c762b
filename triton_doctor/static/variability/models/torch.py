"""Calls of torch: allocation, and the methods of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Attr, Call, Const, Expr, Name, Star, TupleExpr
from triton_doctor.static.variability import tensors
from triton_doctor.static.variability.lattice import FEW, UNKNOWN, AbstractNumber
from triton_doctor.static.variability.origins import from_data, is_optional_number, out_of_sight
from triton_doctor.static.variability.values import Shape, Strides, SymbolicValue, Tensor, TupleValue, Value

if TYPE_CHECKING:
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.program_point import ProgramPoint

ALLOCATING = frozenset("empty zeros ones rand randn full empty_strided randint".split())
# What `x.f()` and `torch.f(x)` do alike, and neither changes the shape.
KEEPING = frozenset(
    "to clone detach float half double bfloat16 int long bool cuda cpu abs neg exp type requires_grad_ type_as zero_ "
    "fill_ copy_ mul add sub div softmax sigmoid relu masked_fill clamp pin_memory requires_grad".split()
)
LIKE = frozenset("empty_like zeros_like ones_like full_like rand_like randn_like clone".split())
# Of `torch.f(x, ...)`, those that are methods too.
METHODS = frozenset(
    "transpose swapaxes swapdims t movedim moveaxis permute reshape flatten squeeze unsqueeze numel stack cumsum "
    "nonzero unique".split()
)
NEW = frozenset("new_empty new_zeros new_ones new_full".split())
_FLAGS = frozenset("is_contiguous is_floating_point is_complex element_size".split())


def tensor_method(
    flow: Interpreter, value: Tensor | SymbolicValue, name: str, call: Call, base: Expr, place: ProgramPoint
) -> Value:
    """`value.name(...)`, spelled `base.name(...)`."""
    frame = place.frame
    match name:
        case "size" if not call.args:
            return Shape(of=value)
        case "size" if isinstance(call.args[0], Const) and isinstance(call.args[0].value, int):
            return flow.axis(value, call.args[0].value, frame)
        case "stride" if not call.args and not call.keywords:
            return Strides(of=value)
        case "stride" if call.args and isinstance(call.args[0], Const) and isinstance(call.args[0].value, int):
            return flow.stride(value, call.args[0].value, frame)
        case "numel" | "nelement":
            return tensors.numel(value)
        case "dim" | "ndimension":
            return tensors.number_of_axes(value)
        case "item" if isinstance(value, SymbolicValue) and is_optional_number(value):
            return FEW
        case "item" | "tolist":
            return from_data(base, name, place)
        case "max" | "min" | "sum" | "mean" | "amax" | "argmax" if isinstance(value, Tensor) or not call.args:
            return value
        case "view" | "reshape" | "expand" | "view_as" | "reshape_as" | "unflatten":
            return _viewed(flow, value, name, call, place)
        case "flatten":
            ends = _integers(call.args)
            start, end = (*ends, *((0, -1)[len(ends) :])) if ends is not None else (0, -1)
            return tensors.flatten(value, start, end)
        case "transpose" | "swapaxes" | "swapdims":
            pair = _integers(call.args)
            return tensors.swapped(value, *pair) if pair is not None and len(pair) == 2 else tensors.shuffled(value)
        case "t":
            return tensors.moved(value, (1, 0))
        case "movedim" | "moveaxis":
            ends = _integers(call.args)
            return tensors.movedim(value, *ends) if ends is not None and len(ends) == 2 else tensors.shuffled(value)
        case "permute":
            items = call.args[0].items if len(call.args) == 1 and isinstance(call.args[0], TupleExpr) else call.args
            order = _integers(items)
            return tensors.moved(value, order) if order is not None else tensors.shuffled(value)
        case "unsqueeze":
            at = _integers(call.args)
            return _unsqueezed(value, at[0] if at else None)
        case "contiguous":
            return value._replace(contiguous=True)
        case "cumsum" | "cumprod" | "sort" | "flip" | "roll" if isinstance(value, Tensor):
            return value
        case "new_tensor" if call.args:
            return Tensor(front=(flow.length(flow.value(call.args[0], place), frame),), contiguous=True)
        case "nonzero" | "unique" | "masked_select":
            return Tensor(front=(from_data(base, name, place),), open=UNKNOWN)
        case _ if name in KEEPING:
            return value
        case _ if name in NEW:
            return allocated(flow, "empty", call, place)
        case _ if name in _FLAGS:
            return FEW
        case _:
            return out_of_sight(call, place)


def allocated(flow: Interpreter, name: str, call: Call, place: ProgramPoint) -> Value:
    """A new tensor: its axes are the sizes that it is made with."""
    keywords = dict(call.keywords)
    size = keywords.get("size")
    args = call.args
    if name == "randint":
        args = next((arg.items for arg in args if isinstance(arg, TupleExpr)), args)
    elif name == "full" and args:
        args = args[:1]
    if size is not None:
        args = (size,)
    if not args:
        return Tensor(open=UNKNOWN)
    sizes = _sizes(flow, args, place)
    contiguous = name != "empty_strided"
    if sizes is None:
        inner = flow.value(args[0], place)
        if isinstance(inner, Shape):
            return tensors.as_tensor(inner.of)._replace(contiguous=contiguous)
        return Tensor(open=UNKNOWN)
    return Tensor(front=tuple(sizes), contiguous=contiguous)


def _sizes(flow: Interpreter, args: tuple[Expr, ...], place: ProgramPoint) -> list[AbstractNumber] | None:
    """Sizes given one by one, or as one tuple; None where a star hides how many."""
    if len(args) == 1 and not isinstance(args[0], Star):
        value = flow.value(args[0], place)
        match value:
            case TupleValue(items, False):
                if any(isinstance(one, Shape) for one in items):
                    return None
                return [flow.as_scalar(one, place.frame) for one in items]
            case Shape(of) if tensors.rank(of) is not None:
                return [tensors.axis_at(of, position) for position in range(tensors.rank(of) or 0)]
            case Shape():
                return None
            case _:
                return [flow.as_scalar(value, place.frame)]
    if any(isinstance(arg, Star) for arg in args):
        packed = flow.value(TupleExpr(args), place)
        if (
            isinstance(packed, TupleValue)
            and not packed.open
            and not any(isinstance(one, Shape) for one in packed.items)
        ):
            return [flow.as_scalar(one, place.frame) for one in packed.items]
        return None
    return [flow.scalar(arg, place) for arg in args]


def concatenated(flow: Interpreter, parts: Value, place: ProgramPoint) -> Tensor:
    """`cat(parts)`: one axis where a part has one."""
    items = parts.items if isinstance(parts, TupleValue) else ()
    lines = [item for item in items if isinstance(item, Tensor) and tensors.rank(item) == 1]
    if not lines:
        return Tensor(open=UNKNOWN)
    return Tensor(front=(UNKNOWN._replace(trail=lines[0].front[0].trail),), contiguous=True)


def _viewed(flow: Interpreter, value: Tensor | SymbolicValue, name: str, call: Call, place: ProgramPoint) -> Value:
    if name in ("view_as", "reshape_as") and call.args:
        return flow.value(call.args[0], place)
    if name == "unflatten":
        return Tensor(open=UNKNOWN)
    args = call.args
    if not args:
        return value
    if len(args) == 1 and isinstance(args[0], Attr | Name) and flow.value(args[0], place) is FEW:
        return value
    sizes = _sizes(flow, args, place)
    if sizes is None:
        packed = flow.value(args[0].value if isinstance(args[0], Star) else args[0], place)
        if isinstance(packed, Shape) and len(args) == 1:
            return tensors.as_tensor(packed.of)._replace(contiguous=True)
        if isinstance(packed, Shape) and isinstance(args[0], Star):
            tail = [flow.scalar(arg, place) for arg in args[1:]]
            inner = tensors.as_tensor(packed.of)
            known = inner.open is not None and not inner.back
            if known:
                return Tensor(front=inner.front, open=inner.open, back=tuple(tail), contiguous=True)
        return Tensor(open=UNKNOWN)
    if name == "expand":
        axes = [tensors.axis_at(value, index) if size.literal == -1 else size for index, size in enumerate(sizes)]
        return Tensor(front=tuple(axes))
    return tensors.reshape(value, [None if size.literal == -1 else size for size in sizes])


def _unsqueezed(value: Tensor | SymbolicValue, at: int | None) -> Tensor:
    tensor = tensors.as_tensor(value)
    if at is None:
        return Tensor(open=UNKNOWN)
    if tensor.open is None:
        axes = list(tensor.front + tensor.back)
        axes.insert(at if at >= 0 else len(axes) + 1 + at, tensors.ONE)
        return Tensor(front=tuple(axes), contiguous=tensor.contiguous)
    if at == 0:
        return Tensor(front=(tensors.ONE, *tensor.front), open=tensor.open, back=tensor.back)
    if at == -1:
        return Tensor(front=tensor.front, open=tensor.open, back=(*tensor.back, tensors.ONE))
    return Tensor(open=UNKNOWN)


def _integers(args: tuple[Expr, ...]) -> list[int] | None:
    values = [arg.value for arg in args if isinstance(arg, Const) and isinstance(arg.value, int)]
    return values if len(values) == len(args) else None

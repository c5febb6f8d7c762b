"""Calls out of the project: what functions of Python, torch and triton do to sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.expression import Attr, Call, Const, Expr, Name, Pack, Star, dotted, spell
from triton_doctor.static.flow import leanings, tensors
from triton_doctor.static.flow.arithmetic import coarse, greatest, least, power_of_two, quotient
from triton_doctor.static.flow.kinds import FEW, FIXED, UNKNOWN, Kind, Scalar, join
from triton_doctor.static.flow.note import Note
from triton_doctor.static.flow.values import Either, Many, Sequence, Shape, Table, Tensor, Thing, Value, either

if TYPE_CHECKING:
    from triton_doctor.static.flow.evaluate import Flow
    from triton_doctor.static.flow.frame import Place

_ALLOCATING = frozenset({"empty", "zeros", "ones", "rand", "randn", "full", "empty_strided", "randint"})
_NEW = frozenset({"new_empty", "new_zeros", "new_ones", "new_full"})
_LIKE = frozenset({"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "clone"})
_KEEPING = frozenset(
    [
        "to",
        "clone",
        "detach",
        "float",
        "half",
        "double",
        "bfloat16",
        "int",
        "long",
        "bool",
        "cuda",
        "cpu",
        "abs",
        "neg",
        "exp",
        "type",
        "requires_grad_",
        "type_as",
        "zero_",
        "fill_",
        "copy_",
        "mul",
        "add",
        "sub",
        "div",
        "softmax",
        "sigmoid",
        "relu",
        "masked_fill",
        "clamp",
        "pin_memory",
        "requires_grad",
    ]
)
_FLAGS = frozenset(
    [
        "isinstance",
        "hasattr",
        "is_contiguous",
        "is_cuda",
        "is_available",
        "dim",
        "is_floating_point",
        "element_size",
        "callable",
        "any",
        "all",
        "bool",
        "get_default_dtype",
        "finfo",
        "iinfo",
        "is_complex",
        "issubclass",
        "str",
        "type",
        "startswith",
        "endswith",
        "lower",
        "upper",
        "getenv",
        "primitive_bitwidth",
    ]
)
_MACHINE = frozenset(
    [
        "get_device_properties",
        "device_count",
        "current_device",
        "get_device_name",
        "get_device_capability",
        "cpu_count",
        "multi_processor_count",
        "get_world_size",
        "get_rank",
        "getenv",
    ]
)


def call_value(flow: Flow, call: Call, place: Place) -> Value:
    """What a call of something outside the project gives."""
    match call.func:
        case Attr(base, name):
            receiver = flow.value(base, place) if not _is_module(base, place) else None
            if receiver is None:
                return _function(flow, name, call, place)
            options = receiver.options if isinstance(receiver, Either) else (receiver,)
            return either([_method(flow, option, name, call, base, place) for option in options])
        case Name(name):
            return _function(flow, name, call, place)
        case _:
            return UNKNOWN


def _is_module(base: Expr, place: Place) -> bool:
    full = dotted(base)
    first = full.partition(".")[0] if full is not None else None
    return first is not None and first in place.frame.module.imports and first not in place.frame.function.bindings


def _function(flow: Flow, name: str, call: Call, place: Place) -> Value:
    def scalars() -> list[Scalar]:
        return [flow.scalar(arg, place) for arg in call.args]

    def first() -> Value:
        return flow.value(call.args[0], place)

    if name in _ALLOCATING:
        return _allocated(flow, name, call, place)
    if name in _MACHINE:
        return FIXED
    if name in _FLAGS:
        return FEW
    if not call.args:
        return _opaque(call, place)
    match name:
        case "len":
            return flow.length(first(), place.frame)
        case "next_power_of_2" | "next_pow2" | "next_power_of_two":
            return power_of_two(join(scalars()))
        case "cdiv" | "ceil_div" | "ceildiv" | "div_up" | "div_ceil" if len(call.args) == 2:
            left, right = scalars()
            divisor = right.literal if isinstance(right.literal, int) else None
            return coarse(quotient(left, right), divisor)
        case "min":
            return _extreme(flow, call, place, least=True)
        case "max":
            return _extreme(flow, call, place, least=False)
        case "int" | "float" | "round" | "ceil" | "floor" | "abs" | "SymInt" | "constexpr" | "sqrt" | "isqrt" | "cast":
            return _number(flow, call, place)
        case "log2" | "bit_length" | "log":
            scalar = join(scalars())
            kind = Kind.LOGARITHMIC if scalar.settled() is Kind.PER_CALL else scalar.settled()
            return Scalar(kind=kind, trail=scalar.trail)
        case "prod":
            return _product(flow, call, place)
        case "sum":
            return _summed(flow, first(), place)
        case "range":
            return _range(scalars())
        case "enumerate":
            inner = first()
            pair = (_range([flow.length(inner, place.frame)]).item, _one(flow, inner, place))
            return Many(item=Sequence(items=pair), length=flow.length(inner, place.frame))
        case "zip":
            values = [flow.value(arg, place) for arg in call.args]
            items = tuple(_one(flow, value, place) for value in values)
            return Many(item=Sequence(items=items), length=flow.length(values[0], place.frame))
        case "list" | "tuple" | "sorted" | "reversed" | "set":
            value = first()
            return value if isinstance(value, Sequence | Many | Shape | Thing) else UNKNOWN
        case "dict":
            return Table(items={key: flow.value(value, place) for key, value in call.keywords if key}, open=True)
        case "getattr" if len(call.args) >= 2 and isinstance(call.args[1], Const):
            return flow.value(Attr(call.args[0], str(call.args[1].value)), place)
        case "arange" | "linspace":
            return Tensor(front=(join(scalars()),), contiguous=True)
        case "tensor" | "as_tensor" | "from_numpy" | "array":
            return Tensor(front=(flow.length(first(), place.frame),), open=None, contiguous=True)
        case "transpose" | "permute" | "reshape" | "flatten" | "squeeze" | "unsqueeze" | "numel" | "stack" | "cat":
            rest = Call(call.func, call.args[1:], call.keywords)
            return _method(flow, first(), name, rest, call.args[0], place)
        case _ if name in _LIKE or name in _KEEPING:
            value = first()
            if isinstance(value, Tensor | Thing) and name in _LIKE:
                return replace(tensors.as_tensor(value), contiguous=True)
            return value
        case _:
            return _opaque(call, place)


def _method(flow: Flow, value: Value, name: str, call: Call, base: Expr, place: Place) -> Value:
    match value:
        case Tensor() | Thing():
            return _tensor_method(flow, value, name, call, base, place)
        case Scalar():
            if name == "bit_length":
                kind = Kind.LOGARITHMIC if value.settled() is Kind.PER_CALL else value.settled()
                return Scalar(kind=kind, trail=value.trail)
            if name in ("item", "tolist"):
                return _from_data(base, name, place)
            return FEW if name in _FLAGS else replace(value, literal=...) if value.kind is Kind.FIXED else UNKNOWN
        case Shape(of) if name == "numel":
            return tensors.numel(of)
        case Table(items) if name == "get" and call.args and isinstance(call.args[0], Const):
            found = items.get(str(call.args[0].value))
            rest = [flow.value(arg, place) for arg in call.args[1:]]
            return either([*([found] if found is not None else []), *rest]) if found is not None or rest else UNKNOWN
        case Table(items) if name == "values":
            return Sequence(items=tuple(items.values()))
        case Many(one, _) if name in ("copy",):
            return one
        case _:
            return UNKNOWN


def _tensor_method(flow: Flow, value: Tensor | Thing, name: str, call: Call, base: Expr, place: Place) -> Value:
    frame = place.frame
    match name:
        case "size" if not call.args:
            return Shape(of=value)
        case "size" if isinstance(call.args[0], Const) and isinstance(call.args[0].value, int):
            return flow.axis(value, call.args[0].value, frame)
        case "stride" if call.args and isinstance(call.args[0], Const) and isinstance(call.args[0].value, int):
            return tensors.stride(value, call.args[0].value)
        case "numel" | "nelement":
            own = tensors.numel(value)
            return own if isinstance(value, Tensor) or own.settled() is Kind.PER_CALL else _numel(value, own)
        case "dim" | "ndimension":
            return tensors.number_of_axes(value)
        case "item" | "tolist":
            return _from_data(base, name, place)
        case "max" | "min" | "sum" | "mean" | "amax" | "argmax" if isinstance(value, Tensor) or not call.args:
            return value
        case "view" | "reshape" | "expand" | "view_as" | "reshape_as" | "unflatten":
            return _viewed(flow, value, name, call, place)
        case "flatten":
            ends = _integers(call.args)
            start, end = (*ends, *((0, -1)[len(ends) :])) if ends is not None else (0, -1)
            return tensors.flatten(value, start, end)
        case "transpose" | "swapaxes":
            pair = _integers(call.args)
            return tensors.swapped(value, *pair) if pair is not None and len(pair) == 2 else Tensor(open=UNKNOWN)
        case "t":
            return tensors.moved(value, (1, 0))
        case "permute":
            items = call.args[0].items if len(call.args) == 1 and isinstance(call.args[0], Pack) else call.args
            order = _integers(items)
            return tensors.moved(value, order) if order is not None else Tensor(open=UNKNOWN)
        case "unsqueeze":
            at = _integers(call.args)
            return _unsqueezed(value, at[0] if at else None)
        case "contiguous":
            return replace(tensors.as_tensor(value), contiguous=True) if isinstance(value, Tensor) else value
        case "nonzero" | "unique" | "masked_select":
            return Tensor(front=(_from_data(base, name, place),), open=UNKNOWN)
        case _ if name in _KEEPING:
            return value
        case _ if name in _NEW:
            return _allocated(flow, "empty", call, place)
        case _ if name in _FLAGS:
            return FEW
        case _:
            return _opaque(call, place)


def _numel(value: Tensor | Thing, own: Scalar) -> Scalar:
    """The number of elements of a tensor of which nothing but a name is known: it follows the data, or the weights."""
    return own


def _from_data(base: Expr, name: str, place: Place) -> Scalar:
    frame = place.frame
    text = f"`{{}}.{name}()` is read from the data of a tensor"
    return Scalar(kind=Kind.PER_CALL, from_data=True, trail=(Note(frame.module.path, frame.function.line, text, base),))


def _allocated(flow: Flow, name: str, call: Call, place: Place) -> Value:
    keywords = dict(call.keywords)
    size = keywords.get("size")
    args = call.args
    if name == "randint":
        args = next((arg.items for arg in args if isinstance(arg, Pack)), args)
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
            return replace(tensors.as_tensor(inner.of), contiguous=contiguous)
        return Tensor(open=UNKNOWN)
    return Tensor(front=tuple(sizes), contiguous=contiguous)


def _sizes(flow: Flow, args: tuple[Expr, ...], place: Place) -> list[Scalar] | None:
    """Sizes given one by one, or as one tuple; None where a star hides how many."""
    if len(args) == 1 and not isinstance(args[0], Star):
        value = flow.value(args[0], place)
        match value:
            case Sequence(items, False):
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
        packed = flow.value(Pack(args), place)
        if isinstance(packed, Sequence) and not packed.open and not any(isinstance(one, Shape) for one in packed.items):
            return [flow.as_scalar(one, place.frame) for one in packed.items]
        return None
    return [flow.scalar(arg, place) for arg in args]


def _viewed(flow: Flow, value: Tensor | Thing, name: str, call: Call, place: Place) -> Value:
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
            return replace(tensors.as_tensor(packed.of), contiguous=True)
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


def _unsqueezed(value: Tensor | Thing, at: int | None) -> Tensor:
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


def _extreme(flow: Flow, call: Call, place: Place, *, least: bool) -> Value:
    bound = _least if least else greatest
    values = [flow.value(arg, place) for arg in call.args]
    if len(values) > 1:
        return bound([flow.as_scalar(value, place.frame) for value in values])
    one = _one(flow, values[0], place)
    scalar = flow.as_scalar(one, place.frame)
    match values[0]:
        case Sequence(items, False):
            return bound([flow.as_scalar(item, place.frame) for item in items])
        case Many(_, _) | Thing():
            line = place.frame.function.line
            step = Note(place.frame.module.path, line, "`{}` depends on the data", call)
            pro = scalar.pro | {leanings.LENGTH}
            named = leanings.names_data(spell(call.args[0]))
            return replace(
                scalar,
                pro=pro | {leanings.NAME} if named else pro,
                from_data=True,
                trail=scalar.trail or (step,),
                literal=...,
            )
        case _:
            return scalar


_least = least


def _number(flow: Flow, call: Call, place: Place) -> Value:
    value = flow.value(call.args[-1] if call.func == Name("cast") else call.args[0], place)
    match value:
        case Tensor():
            return _from_data(call.args[0], "item", place)
        case Thing() if spell(call.func) == "int" and isinstance(call.args[0], Call):
            method = call.args[0].func
            if isinstance(method, Attr) and method.name in ("max", "min", "sum"):
                return _from_data(method.base, f"{method.name}", place)
    return flow.as_scalar(value, place.frame)


def _product(flow: Flow, call: Call, place: Place) -> Value:
    value = flow.value(call.args[0], place)
    match value:
        case Shape(of):
            return tensors.numel(of)
        case Sequence(items, False):
            return tensors.product([flow.as_scalar(one, place.frame) for one in items])
        case _:
            return UNKNOWN


def _summed(flow: Flow, value: Value, place: Place) -> Value:
    match value:
        case Sequence(items, _):
            return join([flow.as_scalar(one, place.frame) for one in items])
        case Many(one, length):
            return join([flow.as_scalar(one, place.frame), length])
        case _:
            return UNKNOWN


def _range(bounds: list[Scalar]) -> Many:
    """`range(...)`: its items are as many, and change as often, as its bounds."""
    joined = join(bounds)
    if joined.kind is Kind.FIXED:
        last = bounds[0].literal if len(bounds) == 1 else bounds[1].literal
        if isinstance(last, int):
            return Many(item=Scalar(kind=Kind.PER_CALL, low=0, high=max(last - 1, 0)), length=joined)
    return Many(item=replace(joined, literal=..., size=None, low=None, high=None), length=joined)


def _one(flow: Flow, value: Value, place: Place) -> Value:
    from triton_doctor.static.flow.indexing import element

    return element(flow, value, place.frame)


def _opaque(call: Call, place: Place) -> Thing:
    """The result of a call out of sight: a thing with a name."""
    from triton_doctor.static.flow.sizes import Root

    frame = place.frame
    spelled = spell(call)
    return Thing(
        root=Root(frame.module.path, frame.function.qualname, spelled, frame.function.line, None, False),
        scalar=UNKNOWN,
    )

"""Results of torch functions on tensors, products of matrices included."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Const, TupleExpr
from triton_doctor.static.variability.models.indexing import element
from triton_doctor.static.variability.models.torch_arguments import (
    AnyTensor,
    argument,
    axis_number,
    axis_numbers,
    sizes,
    tensor_at,
)
from triton_doctor.static.variability.values import tensors, views
from triton_doctor.static.variability.values.arithmetic import apply
from triton_doctor.static.variability.values.lattice import (
    UNKNOWN,
    AbstractNumber,
    Variability,
    data_margin,
    join,
)
from triton_doctor.static.variability.values.values import (
    ListValue,
    Shape,
    SymbolicValue,
    Tensor,
    TupleValue,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triton_doctor.static.python.ir import Call, Expr
    from triton_doctor.static.variability.values.evaluator import Evaluator
    from triton_doctor.static.variability.values.values import ProgramPoint, Value

# A tensor with one axis may be broadcast over unknown others: `x + bias`.
_LEAST_KNOWN = 2

_REDUCING = frozenset(
    "sum mean amax amin argmax argmin prod norm logsumexp std var all any nansum count_nonzero".split()
)
# Reductions that return values and indices if given `dim`.
_PAIRS = frozenset("max min median mode kthvalue".split())
MAPPING = frozenset(
    "tanh sqrt rsqrt sin cos silu gelu softplus logsigmoid log_softmax normalize layer_norm dropout leaky_relu square "
    "reciprocal floor_divide pow add_ mul_ sub_ div_ clamp_ clamp_min clamp_max triu tril logical_not logical_and "
    "logical_or bitwise_and bitwise_or cumsum cumprod flip roll nan_to_num masked_fill_ log1p expm1 round floor ceil "
    "where eq ne lt le gt ge scatter scatter_ scatter_add scatter_add_ index_add_ elu hardtanh".split()
)
_PARTS = frozenset("chunk tensor_split split split_with_sizes unbind".split())
_PRODUCTS = frozenset("matmul mm bmm mv linear".split())
RESULTS = (
    _REDUCING
    | _PAIRS
    | MAPPING
    | _PARTS
    | _PRODUCTS
    | frozenset("repeat tile repeat_interleave pad index_select gather topk sort argsort stack".split())
)


def result_of(evaluator: Evaluator, value: AnyTensor, name: str, call: Call, point: ProgramPoint) -> Value | None:
    """Return `value.name(...)`, or `torch.name(value, ...)` without its first argument; None if not modelled."""
    if name in _REDUCING or name in _PAIRS:
        return _reduced(evaluator, value, name, call, point)
    if name in _PARTS:
        return _parts(evaluator, value, name, call, point)
    if name in _PRODUCTS:
        other = tensor_at(evaluator, argument(call, 0, "other", "mat2", "weight", "vec"), point)
        if other is None:
            return None
        product = multiplied(value, other, is_linear=name == "linear")
        return batched_alike(product, other) if name == "bmm" and product is not None else product
    if name in MAPPING:
        operands = (tensor_at(evaluator, arg, point) for arg in call.args)
        return combined([value, *(operand for operand in operands if operand is not None)])
    match name:
        case "repeat" | "tile":
            times = sizes(evaluator, call.args, point)
            numbers = [time for time in times or () if not isinstance(time, Shape)]
            return views.repeated(value, numbers) if times is not None and len(numbers) == len(times) else None
        case "repeat_interleave":
            repeats = argument(call, 0, "repeats")
            scaled = partial(tensors.scaled, times=evaluator.number(repeats, point)) if repeats is not None else None
            return _along(evaluator, value, argument(call, 1, "dim"), scaled, point)
        case "pad":
            return _padded(evaluator, value, argument(call, 0, "pad"), point)
        case "index_select" | "gather":
            index = tensor_at(evaluator, argument(call, 1, "index"), point)
            if name == "gather" or index is None:
                return index
            length = tensors.axis_at(index, 0)
            return _along(evaluator, value, argument(call, 0, "dim"), lambda _: length, point)
        case "topk":
            count = argument(call, 0, "k")
            number = evaluator.number(count, point) if count is not None else UNKNOWN
            return _pair(_along(evaluator, value, argument(call, 1, "dim") or Const(-1), lambda _: number, point))
        case "sort":
            return _pair(value)
        case "argsort":
            return value
        case _:
            return None


def combined(operands: Sequence[AnyTensor]) -> AnyTensor:
    """Return the result of an itemwise function: the operands' axes, broadcast."""
    known = [operand for operand in operands if tensors.rank(operand) is not None]
    # A parameter of the model is broadcast over the other operand, not the other way round.
    others = [operand for operand in operands if tensors.rank(operand) is None]
    widest = next((other for other in others if not _is_weight(other)), (others or operands)[0])
    if not known or len(operands) == 1:
        return widest
    count = max(tensors.rank(arg) or 0 for arg in known)
    if others and count < _LEAST_KNOWN:
        return widest
    columns = (
        [tensors.axis_at(arg, position - count) for arg in known if (tensors.rank(arg) or 0) >= count - position]
        for position in range(count)
    )
    same = all(arg.contiguous is True for arg in known)
    return Tensor(front=tuple(_broadcast(axes) for axes in columns), contiguous=True if same else None)


def _is_weight(value: AnyTensor) -> bool:
    return isinstance(value, SymbolicValue) and value.root.weight


def _broadcast(axes: Sequence[AbstractNumber]) -> AbstractNumber:
    """Return the length of an axis that several tensors have in common."""
    longer = [axis for axis in axes if axis.literal != 1] or axes
    return next((axis for axis in longer if axis.kind is not Variability.UNKNOWN), max(longer, key=data_margin))


def stacked(evaluator: Evaluator, call: Call, point: ProgramPoint) -> Value:
    """Return `stack(parts, dim)`: a new axis with an item for each part."""
    parts = evaluator.value(call.args[0], point)
    dim = axis_number(evaluator, argument(call, 1, "dim", "axis") or Const(0), point)
    first = _item_of(parts)
    if dim is None or first is None:
        return Tensor(open=UNKNOWN)
    bare = views.unsqueezed(first, dim)
    found = (
        views.with_axes(bare, dim, (evaluator.length(parts, point.frame),), replaced=True) if bare is not None else None
    )
    return Tensor(open=UNKNOWN) if found is None else found._replace(contiguous=True, moved=None)


def concatenated(evaluator: Evaluator, call: Call, point: ProgramPoint) -> Value:
    """Return `cat(parts, dim)`: along one axis the sum of the parts."""
    parts = evaluator.value(call.args[0], point)
    dim = axis_number(evaluator, argument(call, 1, "dim", "axis") or Const(0), point)
    if isinstance(parts, SymbolicValue):
        return _joined_list(evaluator, parts, dim, point)
    first = _item_of(parts)
    if dim is None or first is None:
        return Tensor(open=UNKNOWN)
    if isinstance(parts, TupleValue) and not parts.open:
        lengths = [tensors.axis_at(part, dim) for part in parts.items if isinstance(part, Tensor | SymbolicValue)]
        total = apply_all("+", lengths) if len(lengths) == parts.count else UNKNOWN
    else:
        total = join([tensors.axis_at(first, dim), evaluator.length(parts, point.frame)])
    found = views.with_axes(first, dim, (total._replace(size=None),), replaced=True)
    return Tensor(open=UNKNOWN) if found is None else found._replace(contiguous=True, moved=None)


def _joined_list(evaluator: Evaluator, parts: SymbolicValue, dim: int | None, point: ProgramPoint) -> Tensor:
    """Return `cat(parts, dim)` of a list argument: along that axis it changes as often as any part."""
    part = element(evaluator, parts, point.frame)
    if dim is None or not isinstance(part, Tensor | SymbolicValue):
        return Tensor(open=UNKNOWN)
    axis = evaluator.axis(part, dim, point.frame)
    total = axis if axis.decide() is Variability.PER_CALL else UNKNOWN
    found = views.with_axes(part, dim, (total._replace(size=None),), replaced=True)
    return Tensor(open=UNKNOWN) if found is None else found._replace(contiguous=True, moved=None)


def apply_all(op: str, numbers: Sequence[AbstractNumber]) -> AbstractNumber:
    """Return `a + b + c` for `op` `+`."""
    return reduce(lambda total, other: apply(op, [total, other]), numbers)


def _item_of(parts: Value) -> AnyTensor | None:
    """Return any tensor of a list or tuple."""
    match parts:
        case TupleValue(open=False) if parts.count:
            items = [part for part in parts.items if isinstance(part, Tensor | SymbolicValue)]
            return next((part for part in items if tensors.rank(part) is not None), items[0] if items else None)
        case ListValue(Tensor() | SymbolicValue() as item, _):
            return item
        case _:
            return None


def _pair(value: AnyTensor | None) -> TupleValue | None:
    return TupleValue((value, value)) if value is not None else None


def _along(
    evaluator: Evaluator,
    value: AnyTensor,
    dim: Expr | None,
    change: Callable[[AbstractNumber], AbstractNumber] | None,
    point: ProgramPoint,
) -> Tensor | None:
    """Return a new tensor with `change` applied to the axis at `dim`."""
    at = axis_number(evaluator, dim, point)
    if at is None or change is None:
        return None
    found = views.with_axes(value, at, (change(evaluator.axis(value, at, point.frame)),), replaced=True)
    return found._replace(contiguous=True, moved=None) if found is not None else None


def _reduced(evaluator: Evaluator, value: AnyTensor, name: str, call: Call, point: ProgramPoint) -> Value | None:
    given = argument(call, 0 if name != "norm" else 1, "dim", "axis")
    if given is None:
        return value if isinstance(value, SymbolicValue) or name in _PAIRS else Tensor(contiguous=True)
    dims = axis_numbers(evaluator, (given,), point)
    if dims is None:
        other = tensor_at(evaluator, given, point)
        return value if name in _PAIRS and isinstance(other, Tensor) else None
    kept = argument(call, 1 if name != "norm" else 2, "keepdim", "keepdims") == Const(True)
    count = tensors.rank(value)
    order = sorted((dim % count if count else dim for dim in dims), reverse=True)
    result: AnyTensor | None = value
    for dim in order:
        if result is not None:
            result = views.with_axes(result, dim, (tensors.ONE,) if kept else (), replaced=True)
    if result is None:
        return None
    made = result._replace(contiguous=True)
    return _pair(made) if name in _PAIRS else made


def _parts(evaluator: Evaluator, value: AnyTensor, name: str, call: Call, point: ProgramPoint) -> Value | None:
    """Return the parts of a tensor along an axis."""
    where = 0 if name == "unbind" else 1
    dim = axis_number(evaluator, argument(call, where, "dim", "axis") or Const(0), point)
    if dim is None:
        return None
    whole = evaluator.axis(value, dim, point.frame)
    if name == "unbind":
        item = views.with_axes(value, dim, (), replaced=True)
        return ListValue(item=item, length=whole) if item is not None else None
    given = argument(call, 0, "chunks", "indices_or_sections", "split_size_or_sections", "split_size", "split_sizes")
    if given is None:
        return None

    def part(length: AbstractNumber) -> Tensor:
        found = views.with_axes(value, dim, (length,), replaced=True)
        return Tensor(open=UNKNOWN) if found is None else found

    if name.startswith("split"):
        several = evaluator.value(given, point)
        if isinstance(given, TupleExpr) or isinstance(several, TupleValue):
            lengths = sizes(evaluator, (given,), point)
            return (
                TupleValue([part(size) for size in lengths or () if not isinstance(size, Shape)]) if lengths else None
            )
        if isinstance(several, ListValue):
            return ListValue(item=part(evaluator.as_number(several.item, point.frame)), length=several.length)
        length = evaluator.as_number(several, point.frame)
        return ListValue(item=part(length), length=apply("//", [whole, length]))
    count = evaluator.number(given, point)
    return ListValue(item=part(apply("//", [whole, count])), length=count)


def _padded(evaluator: Evaluator, value: AnyTensor, given: Expr | None, point: ProgramPoint) -> AnyTensor | None:
    """Return `pad(value, (left, right, ...))`: pairs of additions, from the last axis on."""
    amounts = sizes(evaluator, (given,), point) if given is not None else None
    if amounts is None or len(amounts) % 2:
        return None
    numbers = [amount for amount in amounts if not isinstance(amount, Shape)]
    result: AnyTensor | None = value
    for index in range(0, len(numbers), 2):
        at = -1 - index // 2
        added = [number for number in numbers[index : index + 2] if number.literal != 0]
        if result is not None and added:
            length = apply_all("+", [evaluator.axis(result, at, point.frame), *added])
            result = views.with_axes(result, at, (length,), replaced=True)
    return result._replace(contiguous=True) if result is not None else None


def multiplied(left: AnyTensor, right: AnyTensor, *, is_linear: bool = False) -> Tensor | None:
    """Return a matrix product: the first operand with its last axis replaced by the columns of the second."""
    count = tensors.rank(right)
    if count == 1 and not is_linear:
        found = views.with_axes(left, -1, (), replaced=True)
    else:
        columns = tensors.axis_at(right, 0 if is_linear else -1)
        found = views.with_axes(left, -1, (columns,), replaced=True)
    return found._replace(contiguous=True, moved=None) if found is not None else None


def batched_alike(product: Tensor, other: AnyTensor) -> Tensor:
    """Return the product of two batches of matrices of equal count; a weight's count is preferred."""
    batch = _shared(tensors.axis_at(product, 0), tensors.axis_at(other, 0))
    return views.with_axes(product, 0, (batch,), replaced=True) or product


def _shared(length: AbstractNumber, other: AbstractNumber) -> AbstractNumber:
    """Return the length of an axis that two tensors share: the known one, or the one that is PER_MODEL."""
    if length.kind is not other.kind and Variability.UNKNOWN in (length.kind, other.kind):
        return other if length.kind is Variability.UNKNOWN else length
    return min(length, other, key=data_margin) if length.suggests_model or other.suggests_model else length


def contracted(evaluator: Evaluator, call: Call, point: ProgramPoint) -> Tensor:
    """Return `einsum("bnd,de->bne", x, w)`."""
    match call.args:
        case (Const(str(pattern)), *operands):
            inputs, arrow, output = pattern.replace(" ", "").partition("->")
        case _:
            return Tensor(open=UNKNOWN)
    lengths: dict[str, AbstractNumber] = {}
    for letters, operand in zip(inputs.split(","), operands, strict=False):
        tensor = tensor_at(evaluator, operand, point)
        if tensor is not None and letters.isalpha():
            whole = views.of_rank(tensor, len(letters))
            for position, letter in enumerate(letters):
                found = tensors.axis_at(whole, position)
                lengths[letter] = _shared(lengths[letter], found) if letter in lengths else found
    if not arrow or "." in output:
        return Tensor(open=UNKNOWN)
    return Tensor(front=tuple(lengths.get(letter, UNKNOWN) for letter in output), contiguous=True)

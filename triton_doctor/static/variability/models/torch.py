"""Calls of torch: allocation, and methods of tensors that create views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Attr, Call, Const, Expr, Name, Star, TupleExpr
from triton_doctor.static.variability.hints.axis_context import AxisContext
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.models.host_tensors import read_out, with_contents
from triton_doctor.static.variability.models.origins import is_optional_number, out_of_sight
from triton_doctor.static.variability.models.sequences import found_items
from triton_doctor.static.variability.models.torch_arguments import argument, axis_number, axis_numbers, sizes
from triton_doctor.static.variability.models.torch_results import MAPPING, RESULTS, result_of
from triton_doctor.static.variability.values import tensors, views
from triton_doctor.static.variability.values.lattice import FEW, UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.values.values import AxisOrder, Shape, Strides, SymbolicValue, Tensor, Value

if TYPE_CHECKING:
    from triton_doctor.static.variability.values.evaluator import Evaluator
    from triton_doctor.static.variability.values.values import CallFrame, ProgramPoint

ALLOCATING = frozenset("empty zeros ones rand randn full empty_strided randint".split())
# Functions and methods that keep the shape.
KEEPING = frozenset(
    "to clone detach float half double bfloat16 int long bool cuda cpu abs neg exp type requires_grad_ type_as zero_ "
    "fill_ copy_ mul add sub div softmax sigmoid relu masked_fill clamp pin_memory requires_grad".split()
)
# Those of KEEPING that compute with their arguments; the others take a dtype, a device or nothing.
_COMPUTING = frozenset("fill_ copy_ mul add sub div masked_fill clamp".split())
LIKE = frozenset("empty_like zeros_like ones_like full_like rand_like randn_like clone".split())
_VIEWS = frozenset(
    "transpose swapaxes swapdims t movedim moveaxis permute reshape flatten ravel unflatten squeeze unsqueeze numel "
    "narrow select broadcast_to".split()
)
# Methods whose result has the sizes given in the call, whatever the tensor.
SIZED = frozenset({"view", "reshape", "expand", "unsqueeze"})
# Functions of torch that are also methods.
METHODS = _VIEWS | RESULTS | {"nonzero", "unique"}
NEW = frozenset("new_empty new_zeros new_ones new_full".split())
_FLAGS = frozenset("is_contiguous is_floating_point is_complex element_size".split())


def tensor_method(
    evaluator: Evaluator, value: Tensor | SymbolicValue, name: str, call: Call, base: Expr, point: ProgramPoint
) -> Value:
    """Return `value.name(...)`, spelled `base.name(...)`."""
    found = _called(evaluator, value, name, call, base, point)
    if value.contents is None or name in NEW or name == "new_tensor":
        return found
    return with_contents(found, name, [value, *(evaluator.value(arg, point) for arg in _operands(name, call))])


def _operands(name: str, call: Call) -> tuple[Expr, ...]:
    """Return the arguments of a method that may affect the items of its result: no sizes and axes."""
    return call.args if name in _COMPUTING or name in MAPPING else ()


def _called(
    evaluator: Evaluator, value: Tensor | SymbolicValue, name: str, call: Call, base: Expr, point: ProgramPoint
) -> Value:
    frame = point.frame
    match name:
        case "size" | "stride" if not call.args and not call.keywords:
            return Shape(of=value) if name == "size" else Strides(of=value)
        case "size" | "stride" if (at := axis_number(evaluator, argument(call, 0, "dim"), point)) is not None:
            return evaluator.axis(value, at, frame) if name == "size" else evaluator.stride(value, at, frame)
        case "numel" | "nelement":
            return _all_elements(evaluator, value, frame)
        case "dim" | "ndimension":
            return tensors.number_of_axes(value)
        case "item" if isinstance(value, SymbolicValue) and is_optional_number(value):
            return FEW
        case "item" | "tolist":
            return read_out(value, base, name, point)
        case "view" | "reshape" | "expand" | "view_as" | "reshape_as" | "expand_as" | "broadcast_to":
            return _sized(evaluator, value, name, call, point)
        case "contiguous":
            return value._replace(contiguous=True)
        case "new_tensor" if call.args:
            return Tensor(front=(evaluator.length(evaluator.value(call.args[0], point), frame),), contiguous=True)
        case "nonzero" | "unique" if (items := found_items(name, call, base, point)) is not None:
            return items
        case "nonzero" | "unique" | "masked_select":
            return Tensor(front=(read_out(value, base, name, point),), open=UNKNOWN)
        case _ if name in _VIEWS:
            return _viewed(evaluator, value, name, call, point)
        case _ if name in KEEPING:
            return value
        case _ if name in NEW:
            return allocated(evaluator, "empty", call, point)
        case _ if name in _FLAGS:
            return FEW
        case _ if name in RESULTS:
            found = result_of(evaluator, value, name, call, point)
            return out_of_sight(call, point) if found is None else found
        case _:
            return out_of_sight(call, point)


def _all_elements(evaluator: Evaluator, value: Tensor | SymbolicValue, frame: CallFrame) -> AbstractNumber:
    """Return `value.numel()` as it is written: unlike a product of axes, it counts all elements of any tensor."""
    total = evaluator.numel(value, frame)
    if total.kind is Variability.UNKNOWN and total.size is None and not total.undecided_dims:
        return total.add_hints(apply_hints(AxisContext(is_total=True), frame.module.path, frame.function.line))
    return total


def allocated(evaluator: Evaluator, name: str, call: Call, point: ProgramPoint) -> Value:
    """Return a new tensor whose axes are the given sizes."""
    size = dict(call.keywords).get("size")
    args = call.args
    if name == "randint":
        args = next((arg.items for arg in args if isinstance(arg, TupleExpr)), args)
    elif name in ("full", "empty_strided") and args:
        args = args[:1]
    if size is not None:
        args = (size,)
    found = sizes(evaluator, args, point) if args else None
    if found is None:
        return Tensor(open=UNKNOWN)
    return views.of_sizes(found)._replace(contiguous=name != "empty_strided")


def _sized(evaluator: Evaluator, value: Tensor | SymbolicValue, name: str, call: Call, point: ProgramPoint) -> Value:
    """Return a view with given sizes, or with those of another tensor."""
    args = call.args
    if name in ("view_as", "reshape_as", "expand_as") and args:
        other = evaluator.value(args[0], point)
        return other._replace(contiguous=False) if name == "expand_as" and isinstance(other, Tensor) else other
    given = argument(call, 0, "shape", "size", "sizes")
    if not args and given is not None:
        args = (given,)
    if not args:
        return value
    if len(args) == 1 and _is_dtype(evaluator, args[0], point):
        return value
    found = sizes(evaluator, args, point)
    if found is None:
        return Tensor(open=UNKNOWN)
    if name in ("expand", "broadcast_to"):
        return views.expanded(value, found)
    return views.reshape(value, found)


def _is_dtype(evaluator: Evaluator, arg: Expr, point: ProgramPoint) -> bool:
    match arg:
        case Attr(Name("torch"), _):
            return True
        case Attr() | Name():
            return evaluator.value(arg, point) is FEW
        case _:
            return False


def _viewed(evaluator: Evaluator, value: Tensor | SymbolicValue, name: str, call: Call, point: ProgramPoint) -> Value:
    """Return a view that moves or merges axes."""

    def at(position: int, *names: str) -> int | None:
        return axis_number(evaluator, argument(call, position, *names), point)

    def several(position: int, *names: str) -> list[int] | None:
        given = argument(call, position, *names)
        return axis_numbers(evaluator, (given,), point) if given is not None else None

    found: Tensor | SymbolicValue | None = None
    match name:
        case "ravel":
            found = views.flatten(value, 0, -1)
        case "flatten":
            start, end = argument(call, 0, "start_dim"), argument(call, 1, "end_dim")
            first, last = (
                axis_number(evaluator, start or Const(0), point),
                axis_number(evaluator, end or Const(-1), point),
            )
            found = views.flatten(value, first, last) if first is not None and last is not None else None
        case "transpose" | "swapaxes" | "swapdims":
            first_axis, other = at(0, "dim0", "axis0"), at(1, "dim1", "axis1")
            found = views.swapped(value, first_axis, other) if first_axis is not None and other is not None else None
        case "t":
            found = views.moved(value, (1, 0)) if tensors.rank(value) != 1 else value
        case "movedim" | "moveaxis":
            sources, targets = several(0, "source"), several(1, "destination")
            found = views.movedim(value, sources, targets) if sources and targets else None
        case "permute":
            given = call.args or tuple(given_dims for key, given_dims in call.keywords if key == "dims")
            order = axis_numbers(evaluator, given, point)
            found = views.moved(value, order) if order else None
        case "unflatten" if (dim := at(0, "dim")) is not None:
            found = _unflattened(evaluator, value, dim, argument(call, 1, "sizes", "unflattened_size"), point)
        case "unsqueeze" if (dim := at(0, "dim")) is not None:
            found = views.unsqueezed(value, dim)
        case "squeeze" if (dim := at(0, "dim")) is not None or not (call.args or call.keywords):
            found = views.squeezed(value, dim)
        case "select" if (dim := at(0, "dim")) is not None:
            found = views.with_axes(value, dim, (), replaced=True)
        case "narrow" if (dim := at(0, "dim")) is not None:
            length = argument(call, 2, "length")
            if length is not None:
                found = views.with_axes(value, dim, (evaluator.number(length, point),), replaced=True)
        case _:
            pass
    return views.shuffled(value) if found is None else found


def _unflattened(
    evaluator: Evaluator, value: Tensor | SymbolicValue, dim: int, given: Expr | None, point: ProgramPoint
) -> Tensor | None:
    """Return `unflatten(dim, sizes)`."""
    found = sizes(evaluator, (given,), point) if given is not None else None
    if found is None:
        return None
    vector = Tensor(front=(evaluator.axis(value, dim, point.frame),))
    parts = views.reshape(vector, found)
    opened = views.with_axes(value, dim, parts.front, replaced=True) if parts.open is None else None
    return opened._replace(contiguous=value.contiguous is True or None, moved=None) if opened is not None else None


def like(value: Tensor | SymbolicValue) -> Tensor:
    """Return `empty_like(value)`: contiguous if `value` is; otherwise with strides in the same order."""
    if isinstance(value, Tensor) and value.moved is not None and value.moved.turns and not value.contiguous:
        return value._replace(contents=None)
    note = value.root.note if isinstance(value, SymbolicValue) else None
    order = AxisOrder(value, (), rest_stays=True, is_like=True)
    return tensors.as_tensor(value)._replace(
        contiguous=True if note is None or note.is_row_major else None, moved=order, contents=None
    )


def is_text(call: Call) -> bool:
    """Return whether a call of `split` has the arguments of `str.split`: none, or a string."""
    return isinstance(call.func, Attr) and (
        not (call.args or call.keywords)
        or any(isinstance(arg, Const) and isinstance(arg.value, str | bytes) for arg in call.args)
        or any(isinstance(arg, Star) for arg in call.args)
        or any(name in ("sep", "maxsplit", "keepends") for name, _ in call.keywords)
    )

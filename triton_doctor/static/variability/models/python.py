"""Calls of Python builtins, of `math`, and of `triton` and its `next_power_of_2`."""

from __future__ import annotations

import re
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Const,
    Expr,
    Name,
    dotted,
    final_name,
)
from triton_doctor.static.python.module import Class
from triton_doctor.static.python.printing import spell
from triton_doctor.static.variability.hints.axis_context import AxisContext
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.models.host_tensors import filled, read_out
from triton_doctor.static.variability.models.indexing import element
from triton_doctor.static.variability.models.origins import from_data, out_of_sight
from triton_doctor.static.variability.models.patterns import is_pattern_call, rearranged
from triton_doctor.static.variability.models.sequences import (
    SEVERAL,
    multiplied,
    multiplies,
    number_range,
    several,
    summed,
)
from triton_doctor.static.variability.models.torch import (
    ALLOCATING,
    KEEPING,
    LIKE,
    METHODS,
    SIZED,
    allocated,
    is_text,
    like,
    tensor_method,
)
from triton_doctor.static.variability.models.torch_arguments import argument
from triton_doctor.static.variability.models.torch_results import concatenated, contracted, stacked
from triton_doctor.static.variability.values.arithmetic import (
    coarse,
    greatest,
    least,
    logarithm,
    power_of_two,
    quotient,
)
from triton_doctor.static.variability.values.lattice import (
    FEW,
    FIXED,
    UNKNOWN,
    AbstractNumber,
    Note,
    Variability,
    join,
)
from triton_doctor.static.variability.values.values import (
    DictValue,
    ListValue,
    Shape,
    SymbolicValue,
    Tensor,
    TupleValue,
    Union,
    Value,
    either,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.variability.values.evaluator import Evaluator
    from triton_doctor.static.variability.values.values import ProgramPoint

_FLAGS = frozenset(
    "isinstance hasattr is_contiguous is_cuda is_available dim is_floating_point element_size callable any all bool "
    "get_default_dtype finfo iinfo is_complex issubclass str type startswith endswith lower upper primitive_bitwidth"
    "".split()
)
# `next_power_of_2`, `prev_pow2`, `get_nearest_power_of_two`, `round_up_to_power_of_2`
_POWER = re.compile(
    r"(?:get_)?(?:next|prev|previous|last|nearest|closest|floor|ceil|largest|smallest|(?:round|pad)(?:_up|_down)?)"
    r"(?:_to)?(?:_(?:the_)?(?:next|nearest))?_(?:power|pow)_?(?:of_?)?(?:2|two)"
)
_MACHINE = frozenset(
    "get_device_properties device_count current_device get_device_name get_device_capability cpu_count "
    "multi_processor_count get_world_size get_rank getenv".split()
)
# Functions that return an integer for any argument, and those that return one for integers.
_INTEGER_FUNCTIONS = frozenset(
    "len int cdiv next_power_of_2 numel nelement dim ndimension bit_length device_count".split()
)
_INTEGER_OF_MATH = frozenset({"ceil", "floor", "gcd", "isqrt"})
_INTEGER_OF_INTEGERS = frozenset({"min", "max", "abs", "sum"})


def rounds_to_power(name: str) -> bool:
    """Return whether a function is `next_power_of_2`, or is called so: its body tells less than its name."""
    return _POWER.fullmatch(name.strip("_")) is not None


def call_value(evaluator: Evaluator, call: Call, point: ProgramPoint) -> Value:
    """Return the result of calling something outside the project."""
    match call.func:
        case Attr(base, name):
            receiver = evaluator.value(base, point) if not _is_module(base, point) else None
            if receiver is None:
                return _function(evaluator, name, call, point)
            options = receiver.options if isinstance(receiver, Union) else (receiver,)
            return either([_method(evaluator, option, name, call, base, point) for option in options])
        case Name(name):
            return _function(evaluator, name, call, point)
        case _:
            return UNKNOWN


def typed_result(value: Value, call: Call) -> Value:
    """Return `value`, the result of `call`, with `is_integer` set accordingly."""
    name = final_name(call.func)
    is_integer = name in _INTEGER_FUNCTIONS or (name in _INTEGER_OF_MATH and dotted(call.func) == f"math.{name}")
    if name in ("size", "stride") and isinstance(call.func, Attr):
        is_integer = len(call.args) == 1
    match value:
        case AbstractNumber():
            return value.with_integrality(is_integer=is_integer or (value.is_integer and name in _INTEGER_OF_INTEGERS))
        case SymbolicValue() if is_integer:
            return value._replace(number=value.number.with_integrality(is_integer=True))
        case _:
            return value


def _is_module(base: Expr, point: ProgramPoint) -> bool:
    full = dotted(base)
    first = full.partition(".")[0] if full is not None else None
    return first is not None and first in point.frame.module.imports and first not in point.frame.function.bindings


def _function(evaluator: Evaluator, name: str, call: Call, point: ProgramPoint) -> Value:
    def numbers() -> list[AbstractNumber]:
        return [evaluator.number(arg, point) for arg in call.args]

    def first() -> Value:
        return evaluator.value(call.args[0], point)

    if name in ALLOCATING:
        return allocated(evaluator, name, call, point)
    if name in _MACHINE:
        return FIXED
    if name in _FLAGS:
        return FEW
    if name == "dict" and not call.args:
        return DictValue({key: evaluator.value(value, point) for key, value in call.keywords if key})
    if not call.args:
        return out_of_sight(call, point)
    if name in SEVERAL and (given := several(evaluator, name, call, point)) is not None:
        return given
    if is_pattern_call(name, call):
        return rearranged(evaluator, call, point) or out_of_sight(call, point)
    match name:
        case "len":
            return evaluator.length(first(), point.frame)
        case _ if rounds_to_power(name):
            return power_of_two(join(numbers()))
        case "cdiv" | "ceil_div" | "ceildiv" | "div_up" | "div_ceil" if len(call.args) == 2:
            left, right = numbers()
            divisor = right.literal if isinstance(right.literal, int) else None
            return coarse(quotient(left, right), divisor)
        case "min" | "max" if len(call.args) > 1 or not isinstance(first(), Tensor):
            return _extreme(evaluator, call, point, smallest=name == "min")
        case "int" | "float" | "round" | "ceil" | "floor" | "abs" | "SymInt" | "constexpr" | "sqrt" | "isqrt" | "cast":
            return _number(evaluator, call, point)
        case "log2" | "bit_length" | "log":
            number = join(numbers())
            return logarithm(number)
        case "prod" if not isinstance(value := first(), Tensor | SymbolicValue):
            return multiplied(evaluator, value, point)
        case "reduce" if len(call.args) >= 2 and multiplies(call.args[0]):
            return multiplied(evaluator, evaluator.value(call.args[1], point), point)
        case "sum" if not (call.keywords or isinstance(value := first(), Tensor)):
            return summed(evaluator, value, point)
        case "range":
            return number_range(numbers())
        case "enumerate":
            inner = first()
            length = evaluator.length(inner, point.frame)
            pair = number_range([length]).item, partial(element, evaluator, inner, point.frame)
            return ListValue(item=TupleValue(pair), length=length)
        case "zip":
            items = [partial(_element_of, evaluator, arg, point) for arg in call.args]
            return ListValue(item=TupleValue(items), length=evaluator.length(first(), point.frame))
        case "list" | "tuple" | "Size" | "sorted" | "reversed" | "set":
            value = first()
            return value if isinstance(value, TupleValue | ListValue | Shape | SymbolicValue | Union) else UNKNOWN
        case "getattr" if len(call.args) >= 2 and isinstance(call.args[1], Const):
            return evaluator.value(Attr(call.args[0], str(call.args[1].value)), point)
        case "arange" | "randperm":
            return Tensor(front=(join(numbers()),), contiguous=True)
        case "linspace" if (steps := argument(call, 2, "steps", "num")) is not None:
            return Tensor(front=(evaluator.number(steps, point),), contiguous=True)
        case "tensor" | "as_tensor" | "from_numpy" | "array":
            return filled(evaluator, name, call, point)
        case "cat" | "concat" | "concatenate":
            return concatenated(evaluator, call, point)
        case "stack":
            return stacked(evaluator, call, point)
        case "einsum":
            return contracted(evaluator, call, point)
        case _ if name in METHODS:
            rest, value = Call(call.func, call.args[1:], call.keywords), first()
            options = value.options if isinstance(value, Union) else (value,)
            return either([_method(evaluator, option, name, rest, call.args[0], point) for option in options])
        case _ if name in LIKE or name in KEEPING:
            value = first()
            return like(value) if isinstance(value, Tensor | SymbolicValue) and name in LIKE else value
        case _:
            return _record(evaluator, call, point) or out_of_sight(call, point)


def _record(evaluator: Evaluator, call: Call, point: ProgramPoint) -> DictValue | None:
    """Return the fields of the dataclass that `call` creates; None if it creates none."""
    names = evaluator.project.names
    match names.dotted(point.frame.module, dotted(call.func) or "?"):
        case Class(bases=(), declared=fields) as created if fields:
            if f"{created.qualname}.__init__" in names.home_of_class(created).functions:
                return None
            given = (*zip(fields, call.args, strict=False), *call.keywords)
            return DictValue({name: evaluator.value(value, point) for name, value in given if name}, open=True)
        case _:
            return None


def _element_of(evaluator: Evaluator, source: Expr, point: ProgramPoint) -> Value:
    """Return the value of the target of a loop over `source`."""
    return element(evaluator, evaluator.value(source, point), point.frame)


def _method(evaluator: Evaluator, value: Value, name: str, call: Call, base: Expr, point: ProgramPoint) -> Value:
    if name == "splitlines" or (name == "split" and is_text(call)):
        note = Note(point.frame.module.path, point.frame.function.line, "`{}` depends on the data", call)
        return ListValue(item=value, length=AbstractNumber(kind=Variability.PER_CALL, from_data=True, trail=(note,)))
    match value:
        case Tensor() | SymbolicValue():
            return tensor_method(evaluator, value, name, call, base, point)
        case AbstractNumber():
            if name == "bit_length":
                return logarithm(value)
            if name in ("item", "tolist"):
                return read_out(value, base, name, point)
            if name in SIZED and value.kind is Variability.UNKNOWN:
                return tensor_method(evaluator, Tensor(open=UNKNOWN), name, call, base, point)
            return (
                FEW if name in _FLAGS else value._replace(literal=...) if value.kind is Variability.FIXED else UNKNOWN
            )
        case Shape() | TupleValue() if name == "numel":
            return multiplied(evaluator, value, point)
        case DictValue(items) if name == "get" and call.args and isinstance(call.args[0], Const):
            found = items.get(str(call.args[0].value))
            rest = [evaluator.value(arg, point) for arg in call.args[1:]]
            return either([*([found] if found is not None else []), *rest]) if found is not None or rest else UNKNOWN
        case DictValue(items) if name == "values":
            return TupleValue(items=tuple(items.values()))
        case ListValue(content, _) if name == "copy":
            return content
        case _:
            return UNKNOWN


def _extreme(evaluator: Evaluator, call: Call, point: ProgramPoint, *, smallest: bool) -> Value:
    bound = least if smallest else greatest
    values = [evaluator.value(arg, point) for arg in call.args]
    if len(values) > 1:
        return bound([evaluator.as_number(value, point.frame) for value in values])
    content = element(evaluator, values[0], point.frame)
    number = evaluator.as_number(content, point.frame)
    match values[0]:
        case TupleValue(items, False):
            return bound([evaluator.as_number(item, point.frame) for item in items])
        case ListValue(_, _) | SymbolicValue():
            line = point.frame.function.line
            step = Note(point.frame.module.path, line, "`{}` depends on the data", call)
            longest = AxisContext(is_length=True, name=spell(call.args[0]))
            return number.add_hints(apply_hints(longest, point.frame.module.path, line))._replace(
                from_data=True,
                trail=number.trail or (step,),
                literal=...,
            )
        case _:
            return number


def _number(evaluator: Evaluator, call: Call, point: ProgramPoint) -> Value:
    value = evaluator.value(call.args[-1] if call.func == Name("cast") else call.args[0], point)
    match value:
        case Tensor():
            return read_out(value, call, None, point)
        case SymbolicValue() if spell(call.func) == "int" and isinstance(call.args[0], Call):
            method = call.args[0].func
            if isinstance(method, Attr) and method.name in ("max", "min", "sum"):
                return from_data(method.base, f"{method.name}", point)
    return evaluator.as_number(value, point.frame)


NVIDIA, AMD = "nvidia", "amd"

# Options of every launch, with their default on each backend that has the option. An option without a default here has
# one that changes between releases. A kernel parameter of such a name exists for the caller's sake.
LAUNCH_OPTIONS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "num_warps": {NVIDIA: 4, AMD: 4},
        "num_stages": {NVIDIA: 3, AMD: 2},
        "num_ctas": {NVIDIA: 1, AMD: 1},
        "maxnreg": {NVIDIA: None},
        "launch_cooperative_grid": {NVIDIA: False, AMD: False},  # since 3.4
        "launch_pdl": {NVIDIA: False},  # since 3.4
        "matrix_instr_nonkdim": {AMD: 0},
        "kpack": {AMD: 1},
        "enable_fp_fusion": {},  # True, and False since 3.9, where a variable decides
        "waves_per_eu": {},  # 1, and 0 since 3.6
        "num_buffers_warp_spec": {NVIDIA: 0, AMD: 0},  # up to 3.2, as are the next three
        "num_consumer_groups": {NVIDIA: 0, AMD: 0},
        "reg_dec_producer": {NVIDIA: 0, AMD: 0},
        "reg_inc_consumer": {NVIDIA: 0, AMD: 0},
    }
)
# The parameters of `triton.Config` by position, as far as all releases agree.
CONFIG_PARAMETERS = ("kwargs", "num_warps", "num_stages", "num_ctas")


def is_default(option: str, value: object) -> bool:
    """Return whether `option=value` is the same as omitting `option` on some backend."""
    # None is passed over (`parse_options` of both backends).
    return value is None or any(value == default for default in LAUNCH_OPTIONS.get(option, {}).values())

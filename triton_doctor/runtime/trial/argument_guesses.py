"""Descriptions of arguments to arguments: tensors, numbers, and guesses where nobody knows."""

from __future__ import annotations

import importlib
import json
from itertools import product
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.constants import UnkeptError, decode_constant
from triton_doctor.runtime.trial.parameter_roles import Roles, read_roles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Types of Triton, by torch's names.
_TYPES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "bool", "u1": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
}  # fmt: skip
# What is tried where nothing is known: of constexprs, and of the elements of tensors.
_GUESSED_NUMBERS = (16, 64, True, False, 4)
_GUESSED_TYPES = ("fp32", "fp16", "i32")

Described = dict[str, Any]


def candidates(
    described: Mapping[str, Described], constexprs: frozenset[str], source: str
) -> Iterator[dict[str, Described]]:
    """Yield `described` with its unknown values guessed, the most likely guess first."""
    roles = read_roles(source, frozenset(described))
    unknown = any(argument["kind"] in ("guess", "size") for name, argument in described.items() if name in constexprs)
    for number, element in product(_GUESSED_NUMBERS if unknown else _GUESSED_NUMBERS[:1], _GUESSED_TYPES):
        yield {
            name: _guess(name, argument, number if name in constexprs else None, element, roles)
            for name, argument in described.items()
        }


def _guess(name: str, argument: Described, number: float | None, element: str, roles: Roles) -> Described:
    if argument["kind"] == "tensor" and argument.get("dtype") is None:
        return {**argument, "dtype": "i64" if name in roles.holding_places else element}
    if argument["kind"] not in ("guess", "size"):
        return argument
    if name in roles.types:
        return {"kind": "type", "name": "float32"}
    if number is not None:
        return {"kind": "value", "value": number}
    if argument["kind"] == "guess" and name in roles.pointers:
        return {"kind": "tensor", "dtype": "i64" if name in roles.holding_places else element, "aligned": True}
    return {"kind": "value", "value": 64}


def make(argument: Described) -> Any:
    """Create the described argument. Raises ValueError for an unknown description."""
    import torch
    import triton.language as tl

    match argument["kind"]:
        case "value":
            return argument["value"]
        case "type":
            return getattr(tl, argument["name"])
        case "exact":
            return decode_constant(json.loads(argument["value"]), _find_no_kernel)
        case "made":
            return getattr(importlib.import_module(argument["module"]), argument["name"])(
                *argument["args"], **argument["keywords"]
            )
        case "tensor":
            made = torch.empty(64, dtype=getattr(torch, _TYPES[argument["dtype"]]))
            return made if argument["aligned"] else made[1:]
        case _:
            raise ValueError(argument)


def _find_no_kernel(module: str, name: str, path: str) -> Any:
    raise UnkeptError(f"the kernel {name} of {module} ({path}) is an argument")

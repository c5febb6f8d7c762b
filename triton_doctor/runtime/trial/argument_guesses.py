"""Descriptions of arguments, and what the kernel's source says of its parameters, to arguments."""

from __future__ import annotations

import ast
import importlib
import json
import textwrap
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from triton_doctor.runtime.hooks.constants import UnkeptError, decode_constant

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
_READING = frozenset({"load", "store", "make_block_ptr", "make_tensor_descriptor"})


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


class Roles(NamedTuple):
    """Names of parameters: those that memory is read or written at, those of them that hold places, and types."""

    pointers: frozenset[str]
    holding_places: frozenset[str]
    types: frozenset[str]


def read_roles(source: str, params: frozenset[str]) -> Roles:
    """Return how the kernel uses `params`: as pointers, as pointers to indices, or as types.

    A pointer passed to another function counts as a pointer if its name suggests one.
    """
    body = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(body, ast.FunctionDef)
    made: dict[str, list[ast.expr]] = {}
    places: list[ast.expr] = []
    for node in ast.walk(body):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AugAssign(target=ast.Name(id=name), value=value)
            ):
                made.setdefault(name, []).append(value)
            case ast.Call(args=[place, *_]) if _reads(node):
                places.append(place)
            case _:
                pass
    pointers = {base for place in places if (base := _base(place, made, params)) is not None}
    loaded = {
        name: base
        for name, values in made.items()
        for value in values
        for inner in ast.walk(value)
        if isinstance(inner, ast.Call) and inner.args and _reads(inner) and (base := _base(inner.args[0], made, params))
    }
    in_places = set[str]()
    for place in places:
        in_places |= _all_names(place, made)
    types = set[str]()
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            callee = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if callee == "range":
                in_places |= set().union(*(_all_names(argument, made) for argument in node.args))
            given = [*node.args[:1]] if callee == "to" else []
            given += [keyword.value for keyword in node.keywords if keyword.arg in ("dtype", "out_dtype")]
            types |= {
                expression.id for expression in given if isinstance(expression, ast.Name) and expression.id in params
            }
    holding = frozenset(pointer for name, pointer in loaded.items() if name in in_places)
    return Roles(frozenset(pointers), holding, frozenset(types))


def _reads(call: ast.Call) -> bool:
    func = call.func
    callee = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
    return callee in _READING or callee.startswith("atomic_")


def _base(place: ast.expr, made: dict[str, list[ast.expr]], params: frozenset[str], depth: int = 8) -> str | None:
    """Return the parameter at which an address expression begins: the leftmost term of its sum, or None."""
    match place:
        case ast.Name(id=name) if name in params:
            return name
        case ast.Name(id=name) if depth:
            return next((base for value in made.get(name, ()) if (base := _base(value, made, params, depth - 1))), None)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _base(left, made, params, depth) or _base(right, made, params, depth)
        case ast.Call(func=ast.Attribute(value=value, attr="to")):
            return _base(value, made, params, depth)
        case ast.Call(args=[first, *_]) if _reads(place) or getattr(place.func, "attr", "") == "advance":
            return _base(first, made, params, depth)
        case ast.IfExp(body=body):
            return _base(body, made, params, depth)
        case _:
            return None


def _all_names(node: ast.expr, made: dict[str, list[ast.expr]]) -> set[str]:
    found: set[str] = set()
    pending = [node]
    while pending:
        for part in ast.walk(pending.pop()):
            if isinstance(part, ast.Name) and part.id not in found:
                found.add(part.id)
                pending += [value for value in made.get(part.id, ()) if not _loads_alone(value)]
    return found


def _loads_alone(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _reads(value)

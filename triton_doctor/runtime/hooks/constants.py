"""Constants of a compile that JSON cannot hold, as text from which `prewarm` makes them again.

A dtype, for example, is `{"dtype": "fp16"}`, and a layout of gluon the fields of its class. What cannot be made again
names its type: `{"unkept": "Layout"}`.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import json
import math
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.describe import LONGEST_TEXT, kernel_name, parameter_name

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = (type(None), bool, int, float, str)


def encode_constants(src: Any) -> tuple[tuple[str, str], ...]:
    """Return the constants of `src`, an ASTSource, that a CompileKey does not hold exactly, as JSON text."""
    names = [param.name for param in src.fn.params]
    constants = ((parameter_name(key, names), value) for key, value in src.constants.items())
    return tuple((name, json.dumps(encode_constant(value))) for name, value in constants if not _is_kept(value))


def _is_kept(value: Any) -> bool:
    """Return whether a CompileKey holds `value` exactly (`describe.scalar`)."""
    if type(value) is str:
        return len(value) <= LONGEST_TEXT
    return type(value) in PLAIN and not (type(value) is float and not math.isfinite(value))


def encode_constant(value: Any) -> Any:
    """Convert `value` to JSON: itself if that is exact, else an object whose only key is its kind."""
    kind = type(value)
    if kind is float and not math.isfinite(value):
        return {"float": repr(value)}
    if kind in PLAIN:
        return value
    if kind in (tuple, list):
        return {kind.__name__: [encode_constant(each) for each in value]}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _encode_fields(kind, value._asdict())
    if dataclasses.is_dataclass(kind) and "<locals>" not in kind.__qualname__:
        # Gluon's layouts, and whatever else a program keeps its settings in.
        fields = [field.name for field in dataclasses.fields(kind) if field.init]
        return _encode_fields(kind, {name: getattr(value, name) for name in fields})
    if isinstance(value, enum.Enum):
        return {"enum": [kind.__module__, kind.__qualname__, value.name]}
    if kind.__name__ == "constexpr" and hasattr(value, "value"):
        return {"constexpr": encode_constant(value.value)}
    if kind.__module__.startswith("triton.language") and kind.__name__ == "dtype":
        return {"dtype": str(value)}
    function: Any = getattr(value, "fn", None)
    if hasattr(value, "cache_key") and hasattr(function, "__code__"):
        kernel = kernel_name(value)
        return {"kernel": [function.__module__, kernel.name, kernel.path]}
    return {"unkept": kind.__name__}


def _encode_fields(kind: type, fields: dict[str, Any]) -> Any:
    return {
        "fields": [kind.__module__, kind.__qualname__, {name: encode_constant(field) for name, field in fields.items()}]
    }


class UnkeptError(ValueError):
    """A constant that cannot be made again."""


def decode_constant(value: Any, find_kernel: Callable[[str, str, str], Any]) -> Any:
    """Decode the result of `encode_constant`. `find_kernel` takes module, name and path of a JITFunction.

    Raises UnkeptError if the constant cannot be restored.
    """
    if not isinstance(value, dict):
        return value
    import triton.language as tl

    match value:
        case {"float": str(text)}:
            return float(text)
        case {"tuple": list(items)}:
            return tuple(decode_constant(each, find_kernel) for each in items)
        case {"list": list(items)}:
            return [decode_constant(each, find_kernel) for each in items]
        case {"fields": [str(module), str(qualified), dict(fields)]}:
            made = {name: decode_constant(field, find_kernel) for name, field in fields.items()}
            return _find_type(module, qualified)(**made)
        case {"enum": [str(module), str(qualified), str(member)]}:
            return _find_type(module, qualified)[member]
        case {"constexpr": inner}:
            return tl.constexpr(decode_constant(inner, find_kernel))
        case {"dtype": str(name)}:
            return tl.dtype(name)
        case {"kernel": [str(module), str(name), str(path)]}:
            return find_kernel(module, name, path)
        case {"unkept": str(kind)}:
            raise UnkeptError(f"a constant is of the type {kind}, which a recording does not keep")
    raise UnkeptError(f"a constant is recorded in a form that this version does not know: {value!r}"[:200])


def _find_type(module: str, qualified: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in qualified.split("."):
        found = getattr(found, part)
    return found

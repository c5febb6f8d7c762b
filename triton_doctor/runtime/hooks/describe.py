"""Triton's objects to plain values, in one form for all its versions. `Any` ends here.

Nothing here looks into a tensor, and nothing makes text of one.
"""

from __future__ import annotations

import linecache
import math
from typing import TYPE_CHECKING, Any

from triton_doctor.kernel_names import report_name
from triton_doctor.runtime.event import CompileKey, KernelName, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import CodeType

# A constexpr can be any object; its text is kept up to this many characters.
LONGEST_TEXT = 200
# A list of autotune configs can stand above a kernel.
MOST_DECORATOR_LINES = 1000
# Paths of this machine and of the build, which no launch chooses.
OPTIONS_LEFT_OUT = frozenset({"extern_libs", "backend_name", "arch"})


def scalar(value: Any) -> Scalar:
    """Convert `value` for a recording: unchanged if JSON can hold it, else its text; for a tensor, only its type."""
    kind = type(value)
    if kind is float and not math.isfinite(value):
        return repr(value)
    if value is None or kind in (bool, int, float):
        return value  # type: ignore[no-any-return]
    if kind is str:
        return value[:LONGEST_TEXT]  # type: ignore[no-any-return]
    if hasattr(value, "data_ptr"):
        return f"<{kind.__name__}>"
    if kind.__name__ == "constexpr" and hasattr(value, "value"):
        return scalar(value.value)
    if hasattr(value, "cache_key") and hasattr(value, "fn"):
        return str(getattr(value.fn, "__qualname__", kind.__name__))
    try:
        return str(value)[:LONGEST_TEXT]
    except Exception:  # somebody else's __str__
        return f"<{kind.__name__}>"


def kernel_name(fn: Any) -> KernelName:
    """Return the name of a JITFunction, an InterpretedFunction or a plain function."""
    function = getattr(fn, "fn", fn)
    code = getattr(function, "__code__", None)
    if code is None:
        return KernelName(name=str(getattr(fn, "__name__", fn)), module="", path="", line=0)
    # A program that gives the function another name, as generators do, changes only this one.
    is_renamed = function.__qualname__.rpartition(".")[2] != function.__name__
    return KernelName(
        name=report_name(function.__name__ if is_renamed else function.__qualname__, code.co_filename),
        module=str(function.__module__),
        path=code.co_filename,
        line=_def_line(code),
    )


def _def_line(code: CodeType) -> int:
    # Code begins at the first decorator. The lines are in linecache since triton read the source.
    first = code.co_firstlineno
    for line in range(first, first + MOST_DECORATOR_LINES):
        if linecache.getline(code.co_filename, line).lstrip().startswith("def "):
            return line
    return first


def source_of(fn: Any) -> str:
    """Return a hash of the source of a JITFunction with its callees and captured constants, computed by Triton.

    This is the end of the hash; before triton 3.5 the line number follows.
    """
    return str(fn.cache_key)[-16:]


def compile_key(
    src: Any, options: tuple[tuple[str, Scalar], ...], target: Any, launch_options: Mapping[str, Any]
) -> CompileKey:
    """Return the key of `src`, an ASTSource. `options` are parsed, `launch_options` those the launch passed."""
    params = src.fn.params
    names = [param.name for param in params]
    declared = {param.name for param in params if param.is_constexpr}
    constants = {parameter_name(key, names): value for key, value in src.constants.items()}
    attributes = dict(_attributes(src.attrs, names))
    signature: list[tuple[str, str]] = []
    for name, kind in _flat(src.signature, names):
        if name not in constants:
            signature.append((name, str(kind)))
        elif name.partition("[")[0] in declared:
            signature.append((name, "constexpr"))
        elif constants[name] is None:
            signature.append((name, "none"))
        else:
            # The one integer that is specialized on its value (triton 3.9 specialize.cc; 3.2 jit.py:640).
            signature.append((name, "i32" if constants[name] == 1 else "constexpr"))
            attributes[name] = "=1" if constants[name] == 1 else attributes.get(name, "")
    typed = dict(signature)
    return CompileKey(
        signature=tuple(signature),
        constants=tuple((name, scalar(constants[name])) for name, kind in signature if kind == "constexpr"),
        attributes=tuple(
            (name, classes)
            for name, classes in attributes.items()
            if classes and typed.get(name, "constexpr") != "constexpr"
        ),
        options=options,
        spelled=tuple(f"{name}={scalar(value)}" for name, value in launch_options.items() if name not in names),
        target=target_text(target),
    )


def target_text(target: Any) -> str:
    """Format a GPUTarget: `cuda:90`."""
    return f"{target.backend}:{target.arch}"


def _flat(signature: Mapping[str, Any], names: list[str]) -> Iterator[tuple[str, Any]]:
    # 3.2 leaves constexprs out of the signature (jit.py:634); they are put back at their place.
    for name in names:
        yield from _leaves(name, signature.get(name, "constexpr"))


def _leaves(name: str, kind: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(kind, tuple):
        for index, inner in enumerate(kind):
            yield from _leaves(f"{name}[{index}]", inner)
    else:
        yield name, kind


def parameter_name(key: Any, names: list[str]) -> str:
    """Return the parameter for `key` of a Triton dict, with indices for a part of a tuple: `strides[0]`."""
    # A path of indices since 3.3, a name before.
    if isinstance(key, tuple):
        return names[key[0]] + "".join(f"[{index}]" for index in key[1:])
    return names[key] if isinstance(key, int) else str(key)


def _attributes(attrs: Any, names: list[str]) -> Iterator[tuple[str, str]]:
    # {(0,): [["tt.divisibility", 16]]} since 3.3; before, an AttrsDescriptor that gives {0: [("tt.divisibility", 16)]}.
    pairs = attrs if isinstance(attrs, dict) else attrs.get_fn_attrs()
    for key, properties in pairs.items():
        classes = [_property(name, value) for name, value in properties]
        yield parameter_name(key, names), " ".join(sorted(text for text in classes if text))


def _property(name: str, value: Any) -> str:
    match name:
        case "tt.divisibility":
            return f"%{value}"
        case "tt.equal_to":
            return ""
        case _:
            return f"{name}={value}"


def parsed_options(options: Any) -> tuple[tuple[str, Scalar], ...]:
    """Return Triton's parsed options, sorted by name."""
    chosen = sorted(vars(options).keys() - OPTIONS_LEFT_OUT)
    return tuple((name, scalar(getattr(options, name))) for name in chosen)


def named_parts(key: Sequence[Any], names: Sequence[str] | None) -> tuple[tuple[str, Scalar], ...]:
    """Return the parts of a tuning key by name. `names` are those of the first; the rest are tensor dtypes.

    A key that is a single text, as some libraries make it, is one part.
    """
    if isinstance(key, str):
        key, names = (key,), None
    known = list(names or ())
    known += [f"dtype {number}" if names else f"part {number}" for number in range(1, len(key) - len(known) + 1)]
    return tuple((name, scalar(value)) for name, value in zip(known, key, strict=False))


def read_timings(timings: Mapping[Any, Any], *, dry: bool) -> tuple[tuple[str, float], ...]:
    """Return configs as text with their timings in milliseconds; 0 in a dry run."""
    return tuple((str(config), 0.0 if dry else _milliseconds(timing)) for config, timing in timings.items())


def _milliseconds(timing: Any) -> float:
    return float(timing[0] if isinstance(timing, list | tuple) else timing)

"""A variant to launch arguments that Triton binds to the same key: stand-ins for tensors, integers of a class.

Triton's own binder sees them, as in `JITFunction.warmup`, so that annotations, `do_not_specialize` and the classes of
each version and backend are its own. Unlike `warmup`, a stand-in can be unaligned.
"""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.constants import UnkeptError, decode_constant
from triton_doctor.runtime.key_changes import MODES
from triton_doctor.runtime.prewarm.kernel_variants import SMALL_TENSOR

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant

PART = re.compile(r"(\w+)((?:\[\d+\])*)")
DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d, ]+)\]>")
BITS = re.compile(r"\d+")
# Each of its class: the constant 1, divisible by 16, neither; the last two beyond 32 bits, and beyond a signed 64.
INTEGERS = {
    ("i32", "=1"): 1,
    ("i32", "%16"): 16,
    ("i32", ""): 17,
    ("i64", "%16"): 1 << 40,
    ("i64", ""): (1 << 40) + 1,
    ("u64", "%16"): 1 << 63,
    ("u64", ""): (1 << 63) + 1,
}
BEYOND_2_GIB = 1 << 40
BASE_ADDRESS = 1 << 20


class StandInDtype(str):
    """A dtype, by its Triton name, with the attributes of a torch dtype that Triton reads."""

    __slots__ = ()

    @property
    def itemsize(self) -> int:
        """Return the size of an element in bytes."""
        bits = BITS.search(self)
        return max(1, int(bits[0]) // 8) if bits else 1

    @property
    def is_floating_point(self) -> bool:
        """Return whether it is a floating-point type."""
        return "f" in self


class StandInTensor:
    """A stand-in with what Triton reads of a tensor to specialize: dtype, address, and on AMD the storage size."""

    def __init__(self, dtype: str, *, aligned: bool, small: bool) -> None:
        self.dtype = StandInDtype(dtype)
        self._address = BASE_ADDRESS if aligned else BASE_ADDRESS + self.dtype.itemsize
        self._range = 0 if small else BEYOND_2_GIB

    def data_ptr(self) -> int:
        """Return the address, which points to no memory."""
        return self._address

    def ptr_range(self) -> int:
        """Return the extent of the storage in bytes."""
        return self._range

    def numel(self) -> int:
        """Return 1 as the number of elements."""
        return 1


def make_arguments(
    variant: KernelVariant, names: list[str], find_kernel: Callable[[str, str, str], Any]
) -> dict[str, Any]:
    """Return launch arguments by parameter for `variant`; `names` are the parameters of its kernel.

    Raises UnkeptError if the recording does not contain a value.
    """
    exact = {name: json.loads(text) for name, text in variant.exact or ()}
    constants = dict(variant.key.constants)
    classes = dict(variant.key.attributes)
    built: dict[str, Any] = {}
    for name, kind in variant.key.signature:
        part = PART.fullmatch(name)
        if part is None or part[1] not in names:
            raise UnkeptError(f"the kernel has no parameter `{name}` any more")
        if kind == "constexpr":
            value = decode_constant(exact[name], find_kernel) if name in exact else constants[name]
        else:
            value = _stand_in(kind, classes.get(name, ""))
        _place(built, part[1], [int(index) for index in BITS.findall(part[2])], value)
    missing = [name for name in names if name not in built]
    return {name: _freeze(value) for name, value in built.items()} | dict.fromkeys(missing, ())


def launch_options(variant: KernelVariant) -> dict[str, Any]:
    """Return the options that the launch passed explicitly, in order, without those that Triton adds itself."""
    parsed = dict(variant.key.options)
    written: dict[str, Any] = {}
    for text in variant.key.spelled:
        name, _, value = text.partition("=")
        option = parsed.get(name, _read(value))
        if name not in MODES or option:
            written[name] = option
    return written


def _read(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _stand_in(kind: str, classes: str) -> Any:
    """Return an argument to which Triton assigns the type `kind` and the `classes` of a CompileKey."""
    if kind.startswith("*"):
        words = classes.split()
        dtype = kind[1:].removeprefix("k")
        return StandInTensor(dtype, aligned="%16" in words, small=SMALL_TENSOR in words)
    if kind == "none":
        return None
    if (kind, classes) in INTEGERS:
        return INTEGERS[kind, classes]
    if kind in ("u1", "i1"):
        return True
    # Of an annotated parameter: its annotation is its type, whatever the value.
    if re.fullmatch(r"[iu]\d+", kind):
        return {"=1": 1, "%16": 16}.get(classes, 17)
    if re.fullmatch(r"(fp|bf|f)\d+", kind):
        return 1.5
    descriptor = DESCRIPTOR.fullmatch(kind)
    if descriptor is not None:
        return _descriptor(descriptor[1], [int(size) for size in descriptor[2].split(",")])
    raise UnkeptError(f"an argument of the type `{kind}` cannot be made without the program")


def _descriptor(dtype: str, block: list[int]) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    base = StandInTensor(dtype, aligned=True, small=True)
    strides = [1 << 12] * (len(block) - 1) + [1]
    return TensorDescriptor(base, list(block), strides, list(block))


def _place(built: dict[str, Any], name: str, indices: list[int], value: Any) -> None:
    """Store `value` at `name[i][j]` in nested dicts, which `_freeze` converts to tuples."""
    if not indices:
        built[name] = value
        return
    level = built.setdefault(name, _Items())
    for index in indices[:-1]:
        level = level.setdefault(index, _Items())
    level[indices[-1]] = value


class _Items(dict[int, Any]):
    """The items of a tuple that is being built."""


def _freeze(value: Any) -> Any:
    return tuple(_freeze(value[index]) for index in sorted(value)) if isinstance(value, _Items) else value

"""Adds to fake tensors what programs expect of GPU tensors: an address, lists, arrays and text."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.dlpack
from torch._subclasses.fake_tensor import FakeTensor

from triton_doctor.runtime.dry.data_guesses import describe_question, guess_number
from triton_doctor.runtime.dry.known_values import real_tensors, value_of
from triton_doctor.runtime.dry.mode import PRIM_DEVICE

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.dry.mode import DryMode
    from triton_doctor.runtime.dry.patches import Patches

# CUDA's allocator aligns to 512 bytes, so does an address that is another one times 512.
ALIGNMENT_BITS = 9
# The attribute `data` of a tensor, as torch has it.
TORCH_DATA = torch._C.TensorBase.data
NUMPY_TYPES = {"bfloat16": "float32", "bool": "bool_"}


def patch_tensors(patches: Patches, mode: DryMode) -> None:
    """Add to FakeTensor the methods that programs use on GPU tensors, such as `data_ptr`."""
    questions = mode.questions

    def data_ptr(self: Any) -> int:
        # One address for all views of a storage; triton asks it for the divisibility by 16.
        with torch._C.DisableTorchFunction():
            address: int = self.untyped_storage()._cdata << ALIGNMENT_BITS
            return address + self.storage_offset() * self.element_size()  # type: ignore[no-any-return]

    def tolist(self: Any) -> Any:
        value = value_of(self)
        if value is not None:
            with real_tensors():
                return value.tolist()
        other = questions.guess(describe_question("tolist", self))
        return _fill(guess_number(self, other), tuple(self.shape))

    def numpy(self: Any, *, force: bool = False) -> Any:
        import numpy as np

        value = value_of(self)
        if value is not None:
            with real_tensors():
                return value.detach().numpy()
        other = questions.guess(describe_question("numpy", self))
        name = str(self.dtype).removeprefix("torch.")
        value = guess_number(self, other) if other else 0
        return np.full(tuple(self.shape), value, dtype=NUMPY_TYPES.get(name, name))

    def __array__(self: Any, dtype: Any = None, copy: Any = None) -> Any:  # noqa: N807
        array = numpy(self)
        return array if dtype is None else array.astype(dtype)

    def __format__(self: Any, spec: str) -> str:  # noqa: N807
        return format(self.item(), spec) if self.dim() == 0 and spec else repr(self)

    def to_dlpack(self: Any, *_: Any, **__: Any) -> Any:
        # Whoever gets it would read memory that is not there.
        questions.stop(describe_question("__dlpack__", self))

    patches.set(FakeTensor, "__dlpack__", to_dlpack)
    patches.set(torch.utils.dlpack, "to_dlpack", to_dlpack)
    for function in (data_ptr, tolist, numpy, __array__, __format__):
        patches.set(FakeTensor, function.__name__, function)
    patches.set(FakeTensor, "record_stream", lambda self, stream: None)
    patches.set(FakeTensor, "pin_memory", lambda self, *_: self)
    patches.set(FakeTensor, "is_pinned", lambda self, *_: False)
    patches.set(FakeTensor, "share_memory_", lambda self: self)
    patches.set(FakeTensor, "is_shared", lambda self: self.is_cuda)
    patches.set(FakeTensor, "data", property(TORCH_DATA.__get__, _assign_data))
    _patch_class_dispatch(patches, mode)
    _patch_subclasses(patches)


class DerivedFake(FakeTensor):  # type: ignore[misc]
    """A fake tensor of a class that the program derives from torch.Tensor: its operators give tensors of the class."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func` as torch.Tensor does; torch omits this for classes with dispatch."""
        return torch.Tensor.__torch_function__.__func__(cls, func, types, args, kwargs)


@functools.cache
def _fake_class(cls: Any) -> Any:
    """Return a fake version of the tensor class `cls`; None for a class with its own dispatch."""
    if issubclass(cls, FakeTensor):
        return cls
    if cls.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return None
    is_torchs = cls in (torch.Tensor, torch.nn.Parameter)
    return FakeTensor if is_torchs else types.new_class(cls.__name__, (cls, DerivedFake))


def _patch_subclasses(patches: Patches) -> None:
    """Let fake tensors become instances of a program's subclass of torch.Tensor, which C++ forbids."""
    make, alias = torch.Tensor._make_subclass, torch.Tensor.as_subclass

    def become(made: Any, cls: Any) -> Any:
        if isinstance(made, FakeTensor) and not isinstance(made, cls) and _fake_class(cls) is not None:
            made.__class__ = _fake_class(cls)
            if issubclass(cls, torch.nn.Parameter):
                made._is_param = True
        return made

    def _make_subclass(cls: Any, data: Any, require_grad: bool = False, **options: Any) -> Any:
        if not isinstance(data, FakeTensor) or _fake_class(cls) is None:
            return make(cls, data, require_grad, **options)
        with torch._C.DisableTorchFunctionSubclass():
            return become(data.detach(), cls).requires_grad_(require_grad)

    def as_subclass(self: Any, cls: Any) -> Any:
        if not isinstance(self, FakeTensor) or _fake_class(cls) is None:
            return alias(self, cls)
        with torch._C.DisableTorchFunctionSubclass():
            return become(torch.ops.aten.alias(self), cls)

    def create_by(create: Callable[..., Any]) -> Any:
        def __new__(cls: Any, *args: Any, **options: Any) -> Any:  # noqa: N807
            is_final = _fake_class(cls) is None or issubclass(cls, FakeTensor)
            made = None if is_final else create(torch.Tensor, *args, **options)
            # Where the dry run's mode is off, as while helion traces, the tensor is no fake one and may have any class.
            return become(made, cls) if isinstance(made, FakeTensor) else create(cls, *args, **options)

        return staticmethod(__new__)

    patches.set(torch.Tensor, "_make_subclass", staticmethod(_make_subclass))
    patches.set(torch.Tensor, "as_subclass", as_subclass)
    patches.set(torch.Tensor, "__new__", create_by(torch.Tensor.__new__))
    patches.set(torch.nn.Parameter, "__new__", create_by(torch.nn.Parameter.__new__))


def _patch_class_dispatch(patches: Patches, mode: DryMode) -> None:
    """Answer device queries of the autograd engine even inside an operator, where the mode is off."""
    before = vars(FakeTensor)["__torch_dispatch__"].__func__

    def dispatch(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is PRIM_DEVICE and mode.here.engine and not args[0].fake_mode.in_kernel_invocation:
            return mode.device_for(args[0])
        return before(cls, func, types, args, kwargs or {})

    patches.set(FakeTensor, "__torch_dispatch__", classmethod(dispatch))


def _fill(value: object, shape: tuple[int, ...]) -> Any:
    return [_fill(value, shape[1:]) for _ in range(shape[0])] if shape else value


def _assign_data(self: Any, source: Any) -> None:
    """Set `parameter.data = source`, and copy the Python attributes that C++ does not: device and known value."""
    TORCH_DATA.__set__(self, source)
    if not isinstance(source, FakeTensor):
        return
    # `_fake_device` until torch 2.10, and again since 2.12.
    name = "_fake_device" if hasattr(source, "_fake_device") else "fake_device"
    setattr(self, name, getattr(source, name))
    # Torch computes with the constants alone where all arguments of an operator have one.
    self.constant = source.constant
    self._dry_value = getattr(source, "_dry_value", None)


def move_parameter(held: Any, moved: Any) -> Any:
    """Give the parameter `held` the contents of `moved`, in place if possible, since optimizers hold it.

    torch would swap the two objects, which the weak references of FakeTensor forbid.
    """
    parameter = torch.nn.Parameter(moved, held.requires_grad)
    if not (isinstance(held, FakeTensor) and isinstance(parameter, FakeTensor)):
        return parameter
    try:
        held.data = moved
    except RuntimeError:
        return parameter
    return held if held.dtype == moved.dtype and held.device == moved.device else parameter

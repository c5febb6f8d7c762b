"""Files of safetensors in a dry run: tensors with the shapes and dtypes of the file, and the values of the small ones.

safetensors reads in compiled code, which makes tensors out of mapped memory and writes through the addresses of pinned
ones: both are for real tensors only. So a file is opened for the CPU, outside the fakes, and each tensor that is asked
for is made again as a fake on the device that the program named.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

from triton_doctor.runtime.dry.values import is_worth_keeping, keep_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.dry.patches import Patches


def patch_safetensors(patches: Patches) -> Callable[[], None]:
    """Have files of safetensors read as fakes. The function that is returned gives every module its `safe_open` back.

    Modules take `safe_open` by name, before the dry run and inside it: all that have it are found by looking.
    """
    try:
        of_torch = importlib.import_module("safetensors.torch")
        before, view_bytes = of_torch.safe_open, of_torch._view2torch
    except (ImportError, AttributeError):  # not installed, or a version that reads in another way
        return lambda: None

    class safe_open:  # noqa: N801 - its name in safetensors
        """A file of safetensors, open for reading."""

        def __init__(self, *args: Any, **options: Any) -> None:
            given = dict(zip(("filename", "framework", "device"), args, strict=False)) | options
            self._is_torch = given.get("framework") in ("pt", "torch", "pytorch")
            self._device = given.get("device", "cpu")
            if self._is_torch:
                given["device"] = "cpu"
            self._file = before(**given)

        def __enter__(self) -> Any:
            self._file.__enter__()
            return self

        def __exit__(self, *exception: object) -> None:
            self._file.__exit__(*exception)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def get_tensor(self, name: str) -> Any:
            if not self._is_torch:
                return self._file.get_tensor(name)
            with unset_fake_temporarily():
                real = self._file.get_tensor(name)
            return _as_fake(real, self._device)

        def get_tensors(self, *args: Any, **options: Any) -> Any:
            if not self._is_torch:
                return self._file.get_tensors(*args, **options)
            with unset_fake_temporarily():
                real = self._file.get_tensors(*args, **options)
            return {name: _as_fake(tensor, self._device) for name, tensor in real.items()}

        def get_slice(self, name: str) -> Any:
            found = self._file.get_slice(name)
            return _PartsOfTensor(found, self._device) if self._is_torch else found

    def view_bytes_as_fakes(*args: Any, **options: Any) -> dict[str, Any]:
        with unset_fake_temporarily():
            real = view_bytes(*args, **options)
        return {name: _as_fake(tensor, "cpu") for name, tensor in real.items()}

    patches.set(of_torch, "_view2torch", view_bytes_as_fakes)
    _replace_everywhere(before, safe_open)
    return lambda: _replace_everywhere(safe_open, before)


class _PartsOfTensor:
    """A tensor of a file, of which a program reads parts."""

    def __init__(self, found: Any, device: Any) -> None:
        self._slice, self._device = found, device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._slice, name)

    def __getitem__(self, index: Any) -> Any:
        with unset_fake_temporarily():
            real = self._slice[index]
        return _as_fake(real, self._device)


def _as_fake(real: Any, device: Any) -> Any:
    """A tensor like `real`, without its data unless it is small, on `device`: a name, or the number of a GPU."""
    made = torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device=device)
    if isinstance(made, FakeTensor) and is_worth_keeping(real):
        with unset_fake_temporarily():
            value = real.clone()
        keep_value(made, value)
    return made


def _replace_everywhere(old: object, new: object) -> None:
    """Put `new` where a module has `old` under some name."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is old:
                setattr(module, name, new)

"""Files of safetensors in a dry run: tensors with the shapes and dtypes of the file, and the values of the small ones.

safetensors reads in compiled code, which makes tensors out of mapped memory and writes through the addresses of pinned
ones: both are for real tensors only. So a file is opened for the CPU, outside the fakes, and each tensor that is asked
for is made again as a fake on the device that the program named.
"""

from __future__ import annotations

import importlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

from triton_doctor.runtime.dry.file_overlay import locate
from triton_doctor.runtime.dry.known_values import is_worth_keeping, keep_value, real_tensors, value_of
from triton_doctor.runtime.dry.patches import replace_everywhere

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.dry.patches import Patches


def patch_safetensors(patches: Patches) -> Callable[[], None]:
    """Read safetensors files as fake tensors. Returns a function that restores `safe_open` everywhere.

    Modules import `safe_open` by name, before and inside the dry run, so all modules are searched for it.
    """
    try:
        of_torch = importlib.import_module("safetensors.torch")
        before, view_bytes = of_torch.safe_open, of_torch._view2torch
        serialize = of_torch.serialize_file
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
            given["filename"] = locate(given["filename"])
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

    names = {dtype: name for name, dtype in of_torch._TYPES.items()}

    def save_file(tensors: dict[str, Any], filename: Any, metadata: dict[str, str] | None = None) -> None:
        with Path(os.fsdecode(filename)).open("wb") as file:
            _write_tensors(file, tensors, metadata, names)

    def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
        file = io.BytesIO()
        _write_tensors(file, tensors, metadata, names)
        return file.getvalue()

    patches.set(of_torch, "_view2torch", view_bytes_as_fakes)

    # What is no fake, of numpy say, compiled code saves.
    def serialize_file(tensors: Any, filename: Any, *rest: Any, **options: Any) -> Any:
        return serialize(tensors, locate(filename, to_write=True), *rest, **options)

    pairs = [(before, safe_open), (of_torch.save_file, save_file), (of_torch.save, save), (serialize, serialize_file)]
    replace_everywhere(pairs)
    return lambda: replace_everywhere([(after, before) for before, after in pairs])


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
    """Return a fake tensor like `real` on `device` (name or GPU index), with the data only if it is small."""
    made = torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device=device)
    if isinstance(made, FakeTensor) and is_worth_keeping(real):
        with unset_fake_temporarily():
            value = real.clone()
        keep_value(made, value)
    return made


def _write_tensors(file: Any, tensors: dict[str, Any], metadata: dict[str, str] | None, names: dict[Any, str]) -> None:
    """Write a safetensors file, sparse where values are unknown, since fakes have no memory to read."""
    head: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    end = 0
    for name, tensor in tensors.items():
        start, end = end, end + tensor.numel() * tensor.element_size()
        head[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    begin = file.tell()
    for name, tensor in tensors.items():
        value = value_of(tensor)
        if value is not None and value.numel():
            with real_tensors():
                data = value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            file.seek(begin + head[name]["data_offsets"][0])
            file.write(data)
    file.seek(begin + end)
    file.truncate()

"""torch's C++ device guard for CUDA, which a CPU build of torch does not have.

Without one, C++ ends the process ("PyTorch is not linked with support for cuda devices") as soon as a fake tensor on
CUDA wants a gradient. torch has a guard that does nothing: torch._C._ensureCUDADeviceGuardSet puts it into the registry
where the guard that is there says that it has no devices, as in a CUDA build without a GPU (torch 2.13
torch/csrc/Module.cpp). On a CPU build the place is empty. An object whose every virtual method returns 0 is put there
for that one question; torch then replaces it by its own.

In a CUDA build CUDA is the accelerator of torch, whose streams the autograd engine asks for, and raises where there is
no GPU ("hasPrimaryContext expects a valid device index"). A registered PrivateUse1 backend is the accelerator before
CUDA is, and no tensor is on it: then the engine asks for no streams (ATen/DeviceAccelerator.cpp).
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from pathlib import Path

import torch

from triton_doctor.errors import DoctorError

REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
# c10::DeviceType::CUDA, the index into the registry.
CUDA_INDEX = 1
NO_ACCELERATOR = "dry"
# More than the interface has methods (c10/core/impl/DeviceGuardImplInterface.h).
METHODS = 64


def install_guard() -> None:
    """Register torch's no-op device guard for CUDA, and remove the accelerator's streams.

    Both stay until the process ends; they are only installed where there is no GPU.
    """
    is_built_for_gpus = torch.version.cuda is not None or torch.version.hip is not None
    if is_built_for_gpus and torch.cuda.device_count() == 0:
        with contextlib.suppress(RuntimeError):  # a backend has that place already
            torch._C._rename_privateuse1_backend(NO_ACCELERATOR)
    torch._C._ensureCUDADeviceGuardSet()
    if is_built_for_gpus:
        return
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    if not sys.platform.startswith("linux") or not library.exists():
        raise DoctorError(
            "this build of torch cannot pretend to have a GPU", hint="dry runs need torch on Linux: pip install torch"
        )
    places = (ctypes.c_void_p * (CUDA_INDEX + 1)).in_dll(ctypes.CDLL(str(library)), REGISTRY)
    if places[CUDA_INDEX]:
        return
    return_zero = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)(lambda this: 0)
    methods = (ctypes.c_void_p * METHODS)(*[ctypes.cast(return_zero, ctypes.c_void_p).value] * METHODS)
    guard = (ctypes.c_void_p * 1)(ctypes.addressof(methods))
    places[CUDA_INDEX] = ctypes.addressof(guard)
    torch._C._ensureCUDADeviceGuardSet()
    if places[CUDA_INDEX] == ctypes.addressof(guard):
        places[CUDA_INDEX] = None
        raise DoctorError(
            f"torch {torch.__version__} cannot pretend to have a GPU", hint="dry runs are tried with torch 2.13"
        )

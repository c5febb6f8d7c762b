"""Replaces the functions of torch.cuda, torch.accelerator and torch._C that describe the GPU."""

from __future__ import annotations

import collections
import functools
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses import fake_tensor

from triton_doctor.runtime.dry.cuda_streams import (
    DryContext,
    DryEvent,
    DryGenerator,
    DryGraph,
    DryStream,
    GeneratorType,
)

if TYPE_CHECKING:
    from triton_doctor.runtime.dry.gpu import AbsentGpu
    from triton_doctor.runtime.dry.patches import Patches

# What torch says of itself where it is built for one of them.
CUDA_VERSION, HIP_VERSION = "13.0", "6.4.0"


def patch_cuda(patches: Patches, gpu: AbsentGpu) -> None:
    """Make torch.cuda describe `gpu` as the only GPU."""
    answers = _answers(gpu)
    for owner in (torch.cuda, torch.cuda.random, torch.cuda.memory, torch.cuda.streams):
        patches.set_existing(owner, answers)
    patches.set_existing(
        torch._C,
        {
            "_cuda_getCurrentRawStream": _zero,
            "_cuda_getDevice": _zero,
            "_cuda_getDeviceCount": _one,
            "_cuda_setDevice": _nothing,
            "_cuda_synchronize": _nothing,
            "_cuda_emptyCache": _nothing,
            "_cuda_isInBadFork": _false,
        },
    )
    # A CPU build has none of them; programs call them as they are there.
    for name, answer in (
        ("_cuda_getCurrentRawStream", _zero),
        ("_cuda_getDevice", _zero),
        # DataParallel, on its one GPU.
        ("_scatter", lambda tensor, *_: (tensor.to("cuda"),)),
        ("_gather", lambda tensors, dim, *_: torch.cat(tensors, dim)),
    ):
        if not hasattr(torch._C, name):
            patches.set(torch._C, name, answer)
    patches.set_existing(
        torch.cuda.nvtx, {"range_push": _nothing, "range_pop": _nothing, "mark": _nothing, "range": DryContext}
    )
    patches.set(torch.version, "hip" if gpu.is_amd else "cuda", HIP_VERSION if gpu.is_amd else CUDA_VERSION)
    patches.set_existing(
        torch.accelerator,
        {
            "is_available": _true,
            "current_accelerator": _cuda,
            "device_count": _one,
            "current_device_index": _zero,
            "current_device_idx": _zero,
            "set_device_index": _nothing,
            "set_device_idx": _nothing,
            "device_index": DryContext,
            "synchronize": _nothing,
            "current_stream": lambda *_, **__: DryStream(),
            "set_stream": _nothing,
            "empty_cache": _nothing,
            "empty_host_cache": _nothing,
            "get_device_capability": lambda *_, **__: {"supported_dtypes": _list_dtypes()},
            **_memory(gpu),
        },
    )
    accelerator = {"_get_accelerator": _cuda, "_accelerator_getAccelerator": _cuda}
    patches.set_existing(torch._C, accelerator)
    # It remembers its answers; those of a dry run end with it.
    patches.set(torch, "get_device_module", functools.cache(torch.get_device_module.__wrapped__))
    for owner in (torch.cuda, torch.cuda.graphs):
        patches.set_existing(owner, {"CUDAGraph": DryGraph, "graph": DryContext, "graph_pool_handle": lambda: (0, 0)})
    patches.set(torch, "Generator", GeneratorType("Generator", (), {}))
    patches.set_existing(torch, {"Event": DryEvent, "Stream": DryStream})
    patches.set_existing(torch._utils, {"_get_available_device_type": lambda: "cuda"})
    # FakeTensorMode would make a real tensor on the accelerator once.
    patches.set_existing(fake_tensor, {"init_gpu_context": _nothing})


def _answers(gpu: AbsentGpu) -> dict[str, Any]:
    return {
        "is_available": _true,
        "is_initialized": _true,
        "_is_compiled": _true,
        "_lazy_init": _nothing,
        "_lazy_call": lambda call, **_: None,
        "init": _nothing,
        "device_count": _one,
        "_device_count_nvml": _one,
        "_raw_device_count_nvml": _one,
        "current_device": _zero,
        "set_device": _nothing,
        "synchronize": _nothing,
        "get_device_properties": lambda *_, **__: gpu.properties(),
        "get_device_capability": lambda *_, **__: gpu.capability,
        "get_device_name": lambda *_, **__: gpu.name,
        "get_arch_list": lambda: ["sm_" + gpu.target.partition(":")[2]],
        "can_device_access_peer": _false,
        "is_bf16_supported": lambda *_, **__: gpu.is_amd or gpu.capability >= (8, 0),
        "is_tf32_supported": lambda *_, **__: gpu.capability >= (8, 0),
        "current_stream": lambda *_, **__: DryStream(),
        "default_stream": lambda *_, **__: DryStream(),
        "set_stream": _nothing,
        "Stream": DryStream,
        "ExternalStream": DryStream,
        "Event": DryEvent,
        "device": DryContext,
        "device_of": DryContext,
        "stream": DryContext,
        "StreamContext": DryContext,
        "_DeviceGuard": DryContext,
        "_exchange_device": _zero,
        "_maybe_exchange_device": _zero,
        "empty_cache": _nothing,
        "ipc_collect": _nothing,
        "get_allocator_backend": lambda: "native",
        "utilization": _zero,
        "memory_usage": _zero,
        "device_memory_used": _zero,
        "temperature": lambda *_, **__: 30,
        "power_draw": lambda *_, **__: 70_000,
        "clock_rate": lambda *_, **__: 1_980,
        "is_current_stream_capturing": _false,
        "manual_seed": _nothing,
        "manual_seed_all": _nothing,
        "seed": _nothing,
        "seed_all": _nothing,
        "initial_seed": _zero,
        "_sleep": _nothing,
        "get_rng_state": lambda *_, **__: torch.zeros(16, dtype=torch.uint8),
        "set_rng_state": _nothing,
        "get_rng_state_all": list,
        "set_rng_state_all": _nothing,
        "default_generators": (DryGenerator("cpu"),),
        **_memory(gpu),
    }


def _memory(gpu: AbsentGpu) -> dict[str, Any]:
    zeros = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
    resets = ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_accumulated_memory_stats")
    return {
        "mem_get_info": lambda *_, **__: (gpu.memory, gpu.memory),
        "get_memory_info": lambda *_, **__: (gpu.memory, gpu.memory),
        "memory_stats": lambda *_, **__: collections.defaultdict(int),
        "memory_summary": lambda *_, **__: "",
        "memory_snapshot": lambda *_, **__: [],
        **dict.fromkeys(zeros, _zero),
        **dict.fromkeys(resets, _nothing),
    }


def _list_dtypes() -> set[torch.dtype]:
    return {value for value in vars(torch).values() if isinstance(value, torch.dtype)}


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _cuda(*_: Any, **__: Any) -> Any:
    return torch.device("cuda")


def _zero(*_: Any, **__: Any) -> int:
    return 0


def _one(*_: Any, **__: Any) -> int:
    return 1


def _true(*_: Any, **__: Any) -> bool:
    return True


def _false(*_: Any, **__: Any) -> bool:
    return False

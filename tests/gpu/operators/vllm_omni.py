"""vllm-omni's layers of diffusion and speech models."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, plain

PACKAGE = Package("vllm-omni", "0.30.0")
VIDEO = "diffusion.distributed.autoencoders"
BARE = (
    "vllm_omni",
    "vllm_omni.diffusion",
    "vllm_omni.diffusion.distributed",
    "vllm_omni.diffusion.distributed.autoencoders",
    "vllm_omni.diffusion.distributed.autoencoders.wan_vae_fastpath",
    "vllm_omni.diffusion.layers",
    "vllm_omni.diffusion.models",
    "vllm_omni.diffusion.models.bagel",
    "vllm_omni.diffusion.models.bagel.mot",
    "vllm_omni.diffusion.models.bagel.mot.ops",
    "vllm_omni.model_executor",
    "vllm_omni.model_executor.models",
    "vllm_omni.model_executor.models.common",
    "vllm_omni.model_executor.models.common.ming",
    "vllm_omni.model_executor.models.common.ops",
    "vllm_omni.model_executor.models.moss_tts",
)
UNUSED = ("vllm", "vllm.platforms", "vllm.logger")
CHANNELS, HEIGHT, WIDTH, GROUPS, CACHED, WINDOW, HOP = 32, 8, 16, 8, 2, 64, 16
# Clips: so many frames.
CLIPS = ((1, 1), (2, 2), (1, 3), (3, 5), (1, 9), (2, 13), (1, 17), (2, 21))
SHAPES_OF = dict.fromkeys(("frames", "frames-norm"), CLIPS)


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library; vLLM, which is not here, would give it Triton."""
    if "vllm.triton_utils" not in sys.modules:
        import triton
        import triton.language
        from triton.language.extra import libdevice

        given = ModuleType("vllm.triton_utils")
        vars(given).update(triton=triton, tl=triton.language, tldevice=libdevice, HAS_TRITON=True)
        sys.modules["vllm.triton_utils"] = given
    return getattr(importlib.import_module(f"vllm_omni.{module}"), name)(*arguments, **more)


def halves(*shape: int) -> torch.Tensor:
    """Half precision."""
    return plain(*shape, dtype=torch.float16)


def clip(batch: int, length: int) -> torch.Tensor:
    """A clip of `length` frames."""
    return halves(batch, CHANNELS, length, HEIGHT, WIDTH)


def frames(batch: int, length: int) -> object:
    """Frames joined with those before, with a border and without."""
    before = clip(batch, CACHED)
    module = f"{VIDEO}.wan_vae_fastpath.triton_data_movement"
    call(module, "cat_time_5d", clip(batch, length), before, CACHED, CACHED)
    return call(module, "cat_pad_5d", clip(batch, length), before, (1, 1, 1, 1, CACHED, 0), CACHED)


def frames_norm(batch: int, length: int) -> object:
    """A norm over channels, that come last or first."""
    last = clip(batch, length).to(memory_format=torch.channels_last_3d)
    call(f"{VIDEO}.wan_decoder_kernels", "wan_rmsnorm_silu", last, halves(CHANNELS), None, 1.0)
    pixels = length * HEIGHT * WIDTH
    norms = plain(batch, 1, pixels, dtype=torch.float32)
    made = halves(batch, CHANNELS, pixels), norms, halves(CHANNELS)
    return call(f"{VIDEO}.wan_vae_fastpath.triton_rms_norm", "rms_norm_scale", *made, 1.0)


def enlarge(batch: int, length: int) -> object:
    """An image, `length` pixels high, made twice as large."""
    image = halves(batch, CHANNELS, length, WIDTH)
    call(f"{VIDEO}.wan_vae_fastpath.triton_upsample", "upsample_nearest_2x", image)
    last = image.to(memory_format=torch.channels_last)
    return call(f"{VIDEO}.wan_decoder_kernels", "nearest_upsample_nhwc", last, 2)


def select(batch: int, length: int) -> object:
    """A norm with one of two shifts and scales for each token."""
    rows = [plain(batch, HIDDEN) for _ in range(6)]
    index = torch.zeros(batch, length, device=DEVICE, dtype=torch.int32)
    made = plain(batch, length, HIDDEN), plain(HIDDEN), plain(HIDDEN), *rows, index
    return call("diffusion.layers.qwen_select01_modulation", "_launch_layernorm_select01", *made, 1e-6)


def two_kinds(batch: int, length: int) -> object:
    """A norm with a weight for tokens of text, and one for those of images."""
    tokens = torch.arange(batch * length + 2, device=DEVICE)
    made = plain(batch * length + 2, HIDDEN), plain(HIDDEN), plain(HIDDEN), tokens[:2], tokens[2:]
    return call("diffusion.models.bagel.mot.ops.mot_rms_norm", "mot_rms_norm", *made)


def group_norm(batch: int, length: int) -> object:
    """A norm over groups of channels of a sound, with and without a shift for each."""
    sound = halves(batch, CHANNELS, length)
    each = [halves(batch, CHANNELS) for _ in range(2)]
    held = [halves(CHANNELS) for _ in range(2)]
    ops = "model_executor.models.common.ops"
    call(f"{ops}.fused_adaptive_group_norm_silu", "fused_adaptive_group_norm_silu", sound, *held, *each, GROUPS)
    return call(f"{ops}.fused_group_norm_silu", "fused_group_norm_silu", sound, *held, GROUPS)


def sound(batch: int, length: int) -> object:
    """Sound of `length` windows."""
    windows = plain(batch, WINDOW, length, dtype=torch.float32)
    made = windows, torch.ones(WINDOW, device=DEVICE), HOP, None, None, False, True
    return call("model_executor.models.common.ming.fused_istft", "fused_istft", *made)


def masked(batch: int, length: int) -> object:
    """New tokens of a stream, against `length` before."""
    made = plain(batch, HEADS, 8, HEAD), plain(batch, HEADS, length, HEAD), plain(batch, HEADS, length, HEAD)
    mask = torch.ones(batch, 1, 8, length, device=DEVICE, dtype=torch.bool)
    return call("model_executor.models.moss_tts.streaming_attention", "masked_attention", *made, mask)


OPERATORS = {
    "frames": frames,
    "frames-norm": frames_norm,
    "enlarge": enlarge,
    "select": select,
    "two-kinds": two_kinds,
    "group-norm": group_norm,
    "sound": sound,
    "masked": masked,
}

"""TurboDiffusion's norms, modulations, rotations and the attention that goes with its derivative."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEADS, HIDDEN, plain

REPOSITORY = "thu-ml/TurboDiffusion"
COMMIT = "aaecff54f819a646ad5e35b9bceb5b72ad16a144"
FOLDERS = ("turbodiffusion", "TurboT2AV/LTX-2/packages/ltx-distillation/src")
BARE = ("ops", "rcm", "rcm.utils", "ltx_distillation")
UNUSED = ("turbo_diffusion_ops", "flash_attn", "flash_attn.flash_attn_interface")
PARAMETERS = 6


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def falls_back(*_: object, **more: object) -> object:
    """What the library does where it has no kernel for the arguments."""
    raise AssertionError("no kernel takes these")


def fast(name: str, *arguments: object, **more: object) -> Any:
    """Call a fused function, which falls back on nothing."""
    return call("ltx_distillation.fast_norm_kernels", f"fast_{name}", *arguments, **more, fallback=falls_back)


def norms(batch: int, length: int) -> object:
    """Norms of all tokens, with and without weights."""
    tokens = plain(batch, length, HIDDEN)
    call("ops.core", "rmsnorm", tokens, plain(HIDDEN), 1e-6)
    call("ops.core", "layernorm", tokens, plain(HIDDEN), plain(HIDDEN), 1e-6)
    return call("ops.core", "layernorm", tokens, None, None, 1e-6, elementwise_affine=False)


@torch.no_grad()
def modulated(batch: int, length: int) -> object:
    """Norms with scales and shifts of each clip."""
    tokens, scale, shift = plain(batch, length, HIDDEN), plain(batch, 1, HIDDEN), plain(batch, 1, HIDDEN)
    fast("rms_norm", tokens, None, 1e-6)
    fast("modulate", tokens, scale, shift)
    fast("gated_residual", tokens, plain(batch, length, HIDDEN), scale, 1.0)
    return fast("modulated_rms_norm", tokens, scale, shift, 1e-6)


@torch.no_grad()
def adapted(batch: int, length: int) -> object:
    """The same with a table of scales and shifts, and a step in time."""
    tokens, table = plain(batch, length, HIDDEN), plain(PARAMETERS, HIDDEN, dtype=torch.float32)
    step = plain(batch, length, PARAMETERS * HIDDEN)
    fast("modulate_from_ada", tokens, table, step, 1, 0, PARAMETERS)
    return fast("modulated_rms_norm_from_ada", tokens, table, step, 1, 0, PARAMETERS, 1e-6)


@torch.no_grad()
def rotated(batch: int, length: int) -> object:
    """Queries rotated."""
    half = HIDDEN // HEADS // 2
    angles = plain(batch, HEADS, length, half), plain(batch, HEADS, length, half)
    return fast("split_rotary_emb", plain(batch, length, HIDDEN), *angles)


def derivative(batch: int, length: int) -> object:
    """Attention and its derivative in one direction."""
    made = [plain(batch, HEADS, length, 64, dtype=torch.float16) for _ in range(6)]
    found = importlib.import_module("rcm.utils.flash_attention_jvp_triton")
    return found._attention.apply(*made)


OPERATORS = {
    "norms": norms,
    "modulated": modulated,
    "adapted": adapted,
    "rotated": rotated,
    "derivative": derivative,
}

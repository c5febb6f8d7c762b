"""DWDP's experts: tokens given out, their layers in 8 bits and 4, and merged."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "RustamSheoran/DWDP-Triton-MoE-Inference-Engine"
COMMIT = "7a8e22fc6701711f20f39c2e39cdc38f1b082e05"
# These import a server, and models.
PARTS = ("executor", "dispatcher", "merger")
BARE = ("DWDP", *(f"DWDP.{part}{inner}" for part in PARTS for inner in ("", ".kernels")))
EXPERTS, CHOSEN, WIDE, TILE = 8, 2, 256, 128


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"DWDP.{module}"), name)(*arguments, **more)


def chosen(batch: int, length: int) -> torch.Tensor:
    """The experts of each token."""
    tokens = batch * length
    return (torch.arange(tokens * CHOSEN, device=DEVICE) % EXPERTS).view(tokens, CHOSEN)


def small(*shape: int) -> torch.Tensor:
    """A tensor of 8 bits."""
    return plain(*shape).to(torch.float8_e4m3fn)


def dispatch(batch: int, length: int) -> object:
    """Tokens in the order of their experts."""
    experts, name = chosen(batch, length).view(-1), "triton_counting_scatter_expert_major_dispatch"
    weights, more = plain(len(experts), dtype=torch.float32), {"num_experts": EXPERTS, "top_k": CHOSEN}
    return call("dispatcher.kernels.triton", name, experts, weights, **more)


def fused(batch: int, length: int) -> object:
    """All experts' layers at once."""
    layers = plain(EXPERTS, HIDDEN, 2 * WIDE), plain(EXPERTS, WIDE, HIDDEN)
    experts = chosen(batch, length)
    made = plain(batch * length, HIDDEN), *layers, experts, plain(*experts.shape)
    return call("executor.kernels.fused_moe", "fused_moe", *made)


def scaled(batch: int, length: int) -> object:
    """Tokens of 8 bits through a layer of 8 bits, with a scale for each tile."""
    tokens = batch * length
    scales = plain(-(-tokens // TILE), HIDDEN // TILE), plain(HIDDEN // TILE, WIDE // TILE)
    made = small(tokens, HIDDEN), small(HIDDEN, WIDE), *(scale.float() for scale in scales)
    return call("executor.kernels.fp8_microscaling", "fp8_microscaled_gemm", *made)


def described(batch: int, length: int) -> object:
    """The same with descriptors of memory."""
    tokens = batch * length
    scales = plain(tokens, HIDDEN // TILE), plain(WIDE // TILE, HIDDEN // TILE)
    made = small(tokens, HIDDEN), small(WIDE, HIDDEN), *(scale.float() for scale in scales)
    return call("executor.kernels.fp8_tma", "fp8_tma_microscaled_gemm", *made)


def unpack(_batch: int, _length: int) -> object:
    """Weights of 4 bits."""
    packed = torch.zeros(WIDE * HIDDEN // 2, device=DEVICE, dtype=torch.uint8)
    return call("executor.kernels.fp4_packing", "unpack_nvfp4_weights", packed, plain(WIDE * HIDDEN // 32))


def merge(batch: int, length: int) -> object:
    """What experts made, added up for each token."""
    tokens = batch * length
    places = torch.arange(tokens * CHOSEN, device=DEVICE) // CHOSEN
    made = plain(tokens * CHOSEN, HIDDEN), plain(tokens * CHOSEN), places, tokens
    return call("merger.kernels.fused_merger", "fused_triton_merge_tokens", *made)


OPERATORS = {
    "dispatch": dispatch,
    "fused": fused,
    "scaled": scaled,
    "described": described,
    "unpack": unpack,
    "merge": merge,
}

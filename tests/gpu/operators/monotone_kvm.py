"""Attention to the last tokens and to a state of those before: its two layers, and a small model, both ways."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEADS, HIDDEN, VOCABULARY, normal

REPOSITORY = "KohakuBlueleaf/monotone-kvm"
COMMIT = "ab2a6033f1528a12a7287610375cc401e8312252"
FOLDERS = ("src",)
SHAPES = CHUNKS
# What the kernels of the second layer leave to PyTorch.
PLAIN = {"use_vlens": False, "use_merge_gate": False, "use_head_temps": False}
WIDTH, LAYERS = 256, 2


def layer(batch: int, length: int, kind: str, **more: object) -> object:
    """One attention layer, by its kernels."""
    module: Any = importlib.import_module("monotone_kvm.attention")
    config = getattr(module, f"{kind}Config")(hidden_size=HIDDEN, num_heads=HEADS, **more)
    made = getattr(module, f"{kind}Attention")(config).to(DEVICE)
    return made.forward_triton(normal(batch, length, HIDDEN, dtype=torch.float32))


def model(batch: int, length: int, attention: str, **more: object) -> object:
    """A small model and its loss."""
    module = importlib.import_module("monotone_kvm.model")
    config = module.TinyLMConfig(VOCABULARY, WIDTH, HEADS, LAYERS, attn=attention, attn_impl="triton", **more)
    made = module.TinyLM(config).to(DEVICE)
    tokens = torch.randint(VOCABULARY, (batch, length), device=DEVICE)
    return made(tokens, tokens)[1]


OPERATORS = {
    "by_halves": lambda batch, length: layer(batch, length, "MonotoneKVM"),
    "by_roots": lambda batch, length: layer(batch, length, "MonotoneKVM", schedule="sqrt"),
    "by_halves_plain": lambda batch, length: layer(
        batch, length, "MonotoneKVM", use_merge_gate=False, use_head_temps=False
    ),
    "by_halves_wide": lambda batch, length: layer(batch, length, "MonotoneKVM", chunk_len=64, n_bswa_chunks=1),
    "merged": lambda batch, length: layer(batch, length, "KVM", state_budget_mode="fixed", **PLAIN),
    "merged_growing": lambda batch, length: layer(batch, length, "KVM", state_budget_mode="power_law", **PLAIN),
    "merged_full": lambda batch, length: layer(batch, length, "KVM", state_budget_mode="saturation", **PLAIN),
    "model": lambda batch, length: model(batch, length, "monotone"),
    "model_merged": lambda batch, length: model(batch, length, "kvm", **PLAIN),
}

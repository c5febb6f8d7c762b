"""Attention whose queries and keys go through a dictionary, forward and backward."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal

REPOSITORY = "Ahnd6474/double-attention"
COMMIT = "b67d368c3f5da1ae6b509670618a77fd34535418"
FOLDERS = ("src",)
MAPS, ROUTE, WIDER, WORDS = 2, 128, 256, 512


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call one of the library's operators."""
    return getattr(importlib.import_module("double_attention.triton_kernels"), name)(*arguments, **more)


def atoms(width: int) -> torch.Tensor:
    """What a dictionary has."""
    return torch.nn.functional.normalize(torch.randn(width, WORDS, device=DEVICE, dtype=torch.bfloat16), dim=0)


def route(batch: int, length: int, width: int = ROUTE, **more: object) -> object:
    """Queries as a mixture of what the dictionary has."""
    made = atoms(width).requires_grad_(), atoms(width).requires_grad_(), torch.tensor(4.0, device=DEVICE)
    return call("dictionary_route_triton", normal(batch, MAPS, length, width), *made, **more)


def attend(batch: int, length: int, *, causal: bool) -> object:
    """Attention of all maps, whose values are shared."""
    routed = normal(batch, MAPS, length, ROUTE), normal(batch, MAPS, length, ROUTE)
    scales = torch.ones(MAPS, device=DEVICE, dtype=torch.float32)
    return call("routed_attention_triton", *routed, normal(batch, length, HIDDEN), scales, causal)


def layer(batch: int, length: int) -> object:
    """All of an attention layer."""
    modules, settings = (importlib.import_module(f"double_attention.{name}") for name in ("modules", "config"))
    config = settings.DoubleAttentionConfig(HIDDEN, ROUTE, WORDS, outer_maps=MAPS)
    made = modules.SharedDictionaryAttention(config).to(DEVICE, torch.bfloat16)
    return made(normal(batch, length, HIDDEN))


OPERATORS = {
    "route": route,
    "route_wide": lambda batch, length: route(batch, length, WIDER),
    "route_gated": lambda batch, length: route(batch, length, silu_logits=True),
    "route_direct": lambda batch, length: route(batch, length, direct_silu=True),
    "route_even": lambda batch, length: route(batch, length, standardize_logits=True),
    "route_raw": lambda batch, length: route(batch, length, normalize_input=False, normalize_output=False),
    "attend": lambda batch, length: attend(batch, length, causal=True),
    "attend_all": lambda batch, length: attend(batch, length, causal=False),
    "layer": layer,
}

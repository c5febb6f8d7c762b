"""Primus-Turbo's gates, norms, router and marks of experts; its products have options of another chip."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal, plain

REPOSITORY = "AMD-AGI/Primus-Turbo"
COMMIT = "a6a16cdce46bd2235a248b41f501fb363c215b9b"
# These import what is compiled of C++.
PARTS = ("pytorch", "pytorch.core", "pytorch.ops", "pytorch.ops.moe")
BARE = ("primus_turbo", *(f"primus_turbo.{part}" for part in PARTS))
WIDE, EXPERTS, CHOSEN, GROUPS, PICKED = 1024, 16, 4, 4, 2


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"primus_turbo.{module}"), name)(*arguments, **more)


def gates(batch: int, length: int) -> object:
    """Two gates, of all tokens and of some, forward and backward."""
    tokens = batch * length
    weights, mask = plain(tokens, dtype=torch.float32), torch.ones(tokens, device=DEVICE, dtype=torch.int64)
    for name in ("swiglu", "geglu"):
        for given in (None, mask):
            made, module = plain(tokens, WIDE), f"pytorch.kernels.activation.{name}_impl"
            call(module, f"{name}_fwd_with_probs", made, weights, given)
            call(module, f"{name}_bwd_with_probs", plain(tokens, WIDE // 2), made, weights, given)
    return None


def norm(batch: int, length: int) -> object:
    """Norms of tokens, forward and backward."""
    module, weight = "pytorch.kernels.normalization.rmsnorm_impl", plain(HIDDEN)
    _, tokens, scale, *blocks = call(module, "rmsnorm_fwd_impl", plain(batch, length, HIDDEN), weight, 1e-6)
    call(module, "rmsnorm_bwd_impl", plain(*tokens.shape), tokens, weight, scale, *blocks)
    return None


def residual(batch: int, length: int) -> object:
    """Norms of sums, forward and backward."""
    module, weight = "pytorch.kernels.normalization.rmsnorm_impl", plain(HIDDEN)
    made = plain(batch * length, HIDDEN), plain(batch * length, HIDDEN), weight
    _, tokens, scale, *blocks = call(module, "rmsnorm_fwd_residual_impl", *made, 1e-6)
    back = plain(*tokens.shape), plain(*tokens.shape), tokens, weight, scale
    call(module, "rmsnorm_bwd_residual_impl", *back, *blocks)
    return None


def route(batch: int, length: int) -> object:
    """The experts of each token, of chosen groups, forward and backward."""
    tokens, module = batch * length, "pytorch.kernels.moe.fused_moe_router_impl"
    logits = plain(tokens, EXPERTS, dtype=torch.float32)
    made = logits, tokens, EXPERTS, GROUPS, CHOSEN, PICKED, "sigmoid", 1.0
    scores, shares, places, largest, routes = call(module, "fused_moe_router_fwd_triton", *made)
    back = plain(tokens, EXPERTS, dtype=torch.float32), plain(tokens, EXPERTS, dtype=torch.float32), logits
    held = shares, places, largest, scores, routes
    call(module, "fused_moe_router_bkwd_triton", *back, *held, "sigmoid", 1.0)
    return None


def masks(batch: int, length: int) -> object:
    """Which rows have a token."""
    tokens = batch * length
    many = torch.full((EXPERTS,), tokens // EXPERTS, device=DEVICE, dtype=torch.int64)
    return call("pytorch.kernels.moe.tokens_per_expert_to_mask_impl", "tokens_per_expert_to_mask_impl", many, tokens)


def indices(batch: int, length: int) -> object:
    """Experts as marks in a table, forward and backward."""
    tokens = batch * length
    chosen = (torch.arange(tokens * CHOSEN, device=DEVICE) % EXPERTS).view(tokens, CHOSEN)
    made = chosen, normal(tokens, CHOSEN, dtype=torch.float32), EXPERTS
    module = importlib.import_module("primus_turbo.pytorch.ops.moe.indices_converter")
    return module.IndicesToMultihot.apply(*made)[1]


OPERATORS = {
    "gates": gates,
    "norm": norm,
    "residual": residual,
    "route": route,
    "masks": masks,
    "indices": indices,
}

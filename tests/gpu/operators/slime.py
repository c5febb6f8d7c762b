"""slime's routes of tokens to experts, in an order that does not change, and weights of 8 bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "THUDM/slime"
COMMIT = "624b824a898ab0ec1fcb4d373004c7f3852bf515"
BARE = ("slime", "slime.backends", "slime.backends.megatron_utils", "slime.backends.megatron_utils.alignment")
CHOSEN = 4


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"slime.backends.megatron_utils.{module}"), name)(*arguments)


def routes(name: str, *arguments: object) -> Any:
    """Call a function that follows tokens' routes."""
    return call("alignment.deterministic_route_kernels", name, *arguments)


def places(batch: int, length: int) -> torch.Tensor:
    """Where each token's routes are."""
    return torch.arange(batch * length * CHOSEN, device=DEVICE).view(-1, CHOSEN)


def scatter(batch: int, length: int) -> object:
    """Tokens to their experts, there and back."""
    tokens, where = plain(batch * length, HIDDEN), places(batch, length)
    many = plain(len(tokens) * CHOSEN, HIDDEN)
    routes("scatter_routes_forward", tokens, where, many)
    routes("scatter_routes_backward", many, where, tokens)
    return None


def ordered(batch: int, length: int) -> object:
    """The gradients of routes."""
    tokens, where = plain(batch * length, HIDDEN), places(batch, length)
    weights = plain(*where.shape, dtype=torch.float32)
    routes("ordered_route_grad", tokens, weights, where, plain(len(tokens) * CHOSEN, HIDDEN))
    return None


def compact(batch: int, length: int) -> object:
    """The places of all routes."""
    valid = torch.ones(batch * length, CHOSEN, device=DEVICE, dtype=torch.bool)
    return routes("compact_route_positions", valid, batch * length * CHOSEN)


def cast(batch: int, length: int) -> object:
    """As many rows as there are tokens, in blocks of 8 bits."""
    return call("kernels.fp8_kernel", "blockwise_cast_to_fp8_triton", plain(batch * length, HIDDEN))


OPERATORS = {"scatter": scatter, "ordered": ordered, "compact": compact, "cast": cast}

"""grouped-mm-bf16's products of matrices, one for each expert: the tokens of all experts vary."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HIDDEN, counts, plain

PACKAGE = Package("grouped-mm-bf16", "0.1.7")
EXPERTS, WIDE = 4, 256


def call(name: str, *arguments: object) -> None:
    """Call a function of the library."""
    getattr(importlib.import_module("grouped_mm_bf16.kernels"), name)(*arguments)


def empty(*shape: int) -> torch.Tensor:
    """Room for a result."""
    return torch.empty(shape, device=DEVICE, dtype=torch.bfloat16)


def ends(tokens: int) -> torch.Tensor:
    """Where the tokens of each expert end."""
    return counts([tokens * (expert + 1) // EXPERTS for expert in range(EXPERTS)])


def dense(batch: int, length: int) -> None:
    """As many tokens for each expert."""
    tokens = batch * length
    x, weight = plain(EXPERTS, tokens, HIDDEN), plain(EXPERTS, HIDDEN, WIDE)
    out = empty(EXPERTS, tokens, WIDE)
    call("grouped_mm_3d3d", x, weight, out)
    call("grouped_mm_3d3d_backward", x, weight, out, torch.empty_like(x), torch.empty_like(weight))


def ragged(batch: int, length: int) -> None:
    """The tokens of all experts one after another."""
    tokens = batch * length
    x, weight, out = plain(tokens, HIDDEN), plain(EXPERTS, HIDDEN, WIDE), empty(tokens, WIDE)
    call("grouped_mm_2d3d", x, weight, ends(tokens), out)
    call("grouped_mm_2d3d_backward", x, weight, ends(tokens), out, torch.empty_like(x), torch.empty_like(weight))


def of_weights(batch: int, length: int) -> None:
    """The gradient of the experts' weights, over tokens one after another."""
    tokens = batch * length
    x, y, out = plain(HIDDEN, tokens), plain(tokens, WIDE), empty(EXPERTS, HIDDEN, WIDE)
    call("grouped_mm_2d2d", x, y, ends(tokens), out)
    call("grouped_mm_2d2d_backward", x, y, ends(tokens), out, torch.empty_like(x), torch.empty_like(y))


def transposed(batch: int, length: int) -> None:
    """Weights from the left, and tokens one after another in the last axis."""
    tokens = batch * length
    weight, x, out = plain(EXPERTS, WIDE, HIDDEN), plain(HIDDEN, tokens), empty(WIDE, tokens)
    call("grouped_mm_3d2d", weight, x, ends(tokens), out)
    call("grouped_mm_3d2d_backward", weight, x, ends(tokens), out, torch.empty_like(weight), torch.empty_like(x))


OPERATORS = {"dense": dense, "ragged": ragged, "of-weights": of_weights, "transposed": transposed}

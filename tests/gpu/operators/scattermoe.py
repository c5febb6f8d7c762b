"""ScatterMoE's experts, with and without gates and biases, and one token's."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal, plain

REPOSITORY = "shawntan/scattermoe"
COMMIT = "47b5e1502e5a10e82c8e5945d761b877849871e7"
EXPERTS, CHOSEN, WIDE = 8, 2, 256


def routed(tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """How much of each token its experts get, and which they are."""
    return torch.topk(torch.softmax(plain(tokens, EXPERTS, dtype=torch.float32), -1), CHOSEN)


def mixed(name: str, batch: int, length: int, **more: object) -> object:
    """All tokens through a layer of experts."""
    weights, chosen = routed(batch * length)
    layer = getattr(importlib.import_module("scattermoe.mlp"), name)
    made = layer(HIDDEN, WIDE, EXPERTS, CHOSEN, activation=torch.nn.SiLU(), **more).to(DEVICE, torch.bfloat16)
    return made(normal(batch, length, HIDDEN), weights.bfloat16(), chosen)


def experts(batch: int, length: int) -> object:
    """Two layers for each expert, with biases, forward and backward."""
    return mixed("MLP", batch, length, bias=True)


def gated(batch: int, length: int) -> object:
    """Gated experts, forward and backward."""
    return mixed("GLUMLP", batch, length)


def single(batch: int, length: int) -> object:
    """One token through its experts."""
    function = importlib.import_module("scattermoe.kernels.single").single2scatter
    _, chosen = routed(1)
    return function(plain(1, HIDDEN), plain(EXPERTS, HIDDEN, WIDE), chosen)


OPERATORS = {"experts": experts, "gated": gated, "single": single}

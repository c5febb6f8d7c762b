"""tropnn's routers: the best cells of each head, what they add to a token, and the gradient of that."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, plain

REPOSITORY = "maxwell-gao/tropnn"
COMMIT = "d4ab14d47fb519a01de20ef75f2c044eaf0906f8"
FOLDERS = ("..",)
BARE = ("tropnn", "tropnn.backends")
HEADS, FEW, MANY, BASES, SCALE = 32, 4, 32, 16, 0.5


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("tropnn.backends.triton_scores"), name)(*arguments, **more)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def best(batch: int, length: int) -> object:
    """The scores of all cells, and the best two of each head."""
    made = whole(batch, length, HEAD), whole(HEADS, FEW, HEAD), whole(HEADS, FEW)
    call("trop_scores_triton", *made)
    return call("trop_top2_stream_triton", *made)


def route(batch: int, length: int) -> object:
    """What the best cells add to each token, in use and in training."""
    made = whole(batch, length, HEAD), whole(HEADS, FEW, HEAD), whole(HEADS, FEW), whole(HEADS, FEW, HEAD)
    call("trop_route_hidden_triton_eval", *made, code_scale=SCALE)
    return call("trop_route_hidden_triton_train", *made, code_scale=SCALE)


def fan(batch: int, length: int) -> object:
    """What the best cells add to each token by a few bases."""
    sites = whole(HEADS, FEW, HEAD), whole(HEADS, FEW)
    made = whole(batch, length, HEAD), *sites, whole(HEADS, FEW, BASES), whole(BASES, HEAD)
    return call("trop_fan_basis_hidden_triton_eval", *made, code_scale=SCALE)


def gradient(batch: int, length: int, cells: int) -> object:
    """The gradient of what the best of `cells` add."""
    many = batch * length
    weights = whole(HEADS, cells, HEAD), whole(HEADS, cells), whole(HEADS, cells, HEAD)
    chosen = [torch.zeros(many, HEADS, device=DEVICE, dtype=torch.int64) for _ in range(2)]
    function = importlib.import_module("tropnn.backends.triton_backward").trop_exact_route_backward_triton
    return function(whole(many, HEAD), whole(many, HEAD), *weights, *chosen, code_scale=SCALE)


def gradient_few(batch: int, length: int) -> object:
    """Few cells."""
    return gradient(batch, length, FEW)


def gradient_many(batch: int, length: int) -> object:
    """Many cells."""
    return gradient(batch, length, MANY)


OPERATORS = {
    "best": best,
    "route": route,
    "fan": fan,
    "gradient-few": gradient_few,
    "gradient-many": gradient_many,
}

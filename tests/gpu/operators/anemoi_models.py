"""Attention along the edges of a graph, of the weather models of anemoi-core."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, normal

REPOSITORY = "ecmwf/anemoi-core"
COMMIT = "2cb9b6e18366ee0bbebc96b9bddd39b81298cf98"
FOLDERS = ("models/src",)
BARE = ("anemoi", "anemoi.models", "anemoi.models.triton")
NEAR = 4


def attend(sources: int, targets: int) -> object:
    """Attention of `targets` nodes to NEAR of `sources` each, forward and backward."""
    ends = torch.arange(targets + 1, device=DEVICE) * NEAR
    origin = torch.arange(targets * NEAR, device=DEVICE) % sources
    order = torch.argsort(origin, stable=True)
    starts = torch.searchsorted(origin[order].contiguous(), torch.arange(sources + 1, device=DEVICE))
    reached = torch.arange(targets, device=DEVICE).repeat_interleave(NEAR)
    made = [normal(many, HEADS, HEAD) for many in (targets, sources, sources, targets * NEAR)]
    module: Any = importlib.import_module("anemoi.models.triton.gt")
    return module.graph_transformer_attention_conv(*made, (origin, ends), (starts, order, reached))


def process(batch: int, length: int) -> object:
    """Among the nodes of a mesh."""
    return attend(batch * length, batch * length)


def encode(batch: int, length: int) -> object:
    """From the places of data to the nodes of a mesh."""
    return attend(2 * batch * length, batch * length)


OPERATORS = {"process": process, "encode": encode}

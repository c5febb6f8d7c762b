"""Tilde's attention to selected blocks."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, normal

REPOSITORY = "tilde-research/nsa-impl"
COMMIT = "623e2c5a30a6979e1fc0cf264c09b66963b1e175"
FOLDERS = ("nsa",)
UNUSED = ("fla", "fla.ops", "fla.ops.nsa", "fla.ops.nsa.parallel")
QUERIES, HELD, BLOCK, CHOSEN = 32, 2, 64, 8
SHAPES = ((1, 512), (2, 576), (3, 640), (2, 768), (4, 896), (1, 1024), (2, 1280), (3, 1664))


def select(batch: int, length: int) -> object:
    """Each token to the blocks that were selected for it."""
    made = normal(batch, length, QUERIES, HEAD), normal(batch, length, HELD, HEAD), normal(batch, length, HELD, HEAD)
    blocks = torch.arange(CHOSEN, device=DEVICE).expand(batch, length, HELD, CHOSEN).contiguous()
    module = importlib.import_module("selection")
    return module.selection_attention(*made, blocks, CHOSEN, BLOCK, HEAD**-0.5, variant="one-pass")


OPERATORS = {"select": select}

"""xFuser's choice of which blocks attend to which."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import ANY, DEVICE, HEAD, HEADS, plain

PACKAGE = Package("xfuser", "0.7.0")
BARE = ("xfuser", "xfuser.core", "xfuser.core.sparge_attention")
SHAPES = (*ANY[3:], (5, 1300), (2, 1664), (1, 2050))


def choose(batch: int, length: int) -> object:
    """By the means of blocks that are alike."""
    made = [plain(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(2)]
    return importlib.import_module("xfuser.core.sparge_attention.block_mask").get_block_map_meansim(*made)


def encode(batch: int, length: int) -> object:
    """A mask of blocks as the steps from one to the next."""
    blocks = -(-length // 64)
    mask = torch.ones(batch, HEADS, blocks, blocks, device=DEVICE, dtype=torch.bool)
    return importlib.import_module("xfuser.core.vsa_attention").block_mask_to_delta_lut(mask)


OPERATORS = {"choose": choose, "encode": encode}

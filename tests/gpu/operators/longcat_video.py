"""LongCat-Video's attention to chosen blocks of a clip."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import HEADS, normal

REPOSITORY = "meituan-longcat/LongCat-Video"
COMMIT = "6b3f4b8582a8bc3f20f795735f5383716c4ba794"
BARE = ("longcat_video",)
HEAD, HIGH, WIDE = 64, 8, 16
# Clips of whole blocks of four frames.
SHAPES = ((1, 4), (1, 8), (2, 12), (3, 16), (1, 20), (2, 28), (1, 40))


def attention(batch: int, length: int) -> object:
    """`length` frames, of which each block sees half of the blocks, forward and backward."""
    made = [normal(batch, HEADS, length * HIGH * WIDE, HEAD) for _ in range(3)]
    shape = length, HIGH, WIDE
    found = importlib.import_module("longcat_video.block_sparse_attention.bsa_interface")
    return found.flash_attn_bsa_3d(*made, shape, shape, sparsity=0.5)


def threshold(batch: int, length: int) -> object:
    """`length` frames, of which each block sees those that matter most, in blocks of 64."""
    made = [normal(batch, HEADS, length * HIGH * WIDE, HEAD) for _ in range(3)]
    shape, block = (length, HIGH, WIDE), [4, 4, 4]
    found = importlib.import_module("longcat_video.block_sparse_attention.bsa_interface")
    return found.flash_attn_bsa_3d(*made, shape, shape, None, 0.9, block, block)


OPERATORS = {"attention": attention, "threshold": threshold}

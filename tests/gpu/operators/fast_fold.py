"""FastFold's attention, softmax and norms of sequences and of their pairs."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, normal, plain

REPOSITORY = "hpcaitech/FastFold"
COMMIT = "eba496808a91bbcd9661cf832349a418b197015f"
BARE = ("fastfold", "fastfold.model", "fastfold.model.fastnn", "fastfold.model.fastnn.kernel")
UNUSED = ("fastfold_softmax_cuda", "fastfold_layer_norm_cuda")
HEAD, ROWS, FEATURES, PAIRED = 32, 8, 256, 128
# Residues of one chain; pairs of them are many.
SHAPES = ((1, 16), (1, 33), (2, 64), (1, 100), (3, 127), (1, 200), (2, 300), (1, 512))


def kernel(module: str) -> Any:
    """A module of the library's kernels."""
    return importlib.import_module(f"fastfold.model.fastnn.kernel.{module}")


@torch.no_grad()
def attention(batch: int, length: int) -> object:
    """Attention of each of ROWS sequences, with what pairs say."""
    made = [plain(batch, ROWS, HEADS, length, HEAD) for _ in range(3)]
    more = plain(batch, ROWS, length), plain(batch, 1, HEADS, length, length)
    return kernel("attention_core").fused_attention_core(*made, *more)


def shares(batch: int, length: int) -> object:
    """A softmax of sequences' scores, with what pairs say, forward and backward."""
    made = normal(batch, ROWS, HEADS, length, length), plain(batch, ROWS, length)
    return kernel("softmax").fused_softmax(*made, normal(batch, 1, HEADS, length, length))


def triangles(batch: int, length: int) -> object:
    """A softmax of pairs' scores without more, forward and backward."""
    return kernel("softmax").fused_softmax(normal(batch, min(length, ROWS), HEADS, length, length))


def sequences(batch: int, length: int) -> object:
    """A norm of sequences, forward and backward."""
    return kernel("layer_norm").FusedLayerNorm(FEATURES).to(DEVICE)(normal(batch, ROWS, length, FEATURES))


def pairs(batch: int, length: int) -> object:
    """A norm of pairs, forward and backward."""
    return kernel("layer_norm").FusedLayerNorm(PAIRED).to(DEVICE)(normal(batch, length, length, PAIRED))


OPERATORS = {
    "attention": attention,
    "shares": shares,
    "triangles": triangles,
    "sequences": sequences,
    "pairs": pairs,
}

"""stk's products of block-sparse matrices with dense ones, one row for each token."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HIDDEN, normal

REPOSITORY = "stanford-futuredata/stk"
COMMIT = "736313768ef697ce13a0594a41b2512a0fbc9884"
WIDE, BLOCK = 1024, 128
SHAPES = CHUNKS


def stk() -> Any:
    """The library."""
    return importlib.import_module("stk")


def sparse(rows: int, columns: int) -> Any:
    """A matrix with two of three blocks, which wants its gradient."""
    places = torch.arange(rows // BLOCK)[:, None] + torch.arange(columns // BLOCK)
    filled = (places % 3 != 1).repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
    return stk().ops.to_sparse(filled.to(torch.bfloat16), BLOCK).to(DEVICE).requires_grad_(True)


def sampled(batch: int, length: int) -> object:
    """Some blocks of a product of dense matrices, forward and backward."""
    made = normal(batch * length, HIDDEN), normal(HIDDEN, WIDE)
    return stk().ops.sdd(*made, sparse(batch * length, WIDE)).data


def right(batch: int, length: int) -> object:
    """Sparse tokens and a layer, forward and backward."""
    return stk().ops.dsd(sparse(batch * length, WIDE), normal(WIDE, HIDDEN))


def left(batch: int, length: int) -> object:
    """A matrix and sparse tokens, whose rows are its columns, forward and backward."""
    return stk().ops.dds(normal(HIDDEN, batch * length), sparse(batch * length, WIDE))


def turned(batch: int, length: int) -> object:
    """A layer and sparse tokens, both transposed, forward and backward."""
    return stk().ops.dds(normal(HIDDEN, WIDE), sparse(batch * length, WIDE).t())


def feed_forward(batch: int, length: int) -> object:
    """Two layers with sparse features between them, forward and backward."""
    held = sparse(batch * length, WIDE)
    between = stk().ops.sdd(normal(batch * length, HIDDEN), normal(HIDDEN, WIDE), held)
    return stk().ops.dsd(between, normal(WIDE, HIDDEN))


def places(batch: int, length: int) -> object:
    """In which rows blocks are."""
    held = sparse(batch * length, WIDE)
    return stk().ops.row_indices(held.shape, held.data, held.offsets, held.column_indices)


OPERATORS = {
    "sampled": sampled,
    "right": right,
    "left": left,
    "turned": turned,
    "feed-forward": feed_forward,
    "places": places,
}

"""torchrec's permutations of jagged and of pooled embeddings, and its gradient of a sorted choice of rows."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, counts, normal, plain

PACKAGE = Package("torchrec", "1.9.2")
BARE = ("torchrec", "torchrec.sparse", "torchrec.modules")
FEATURES, WIDE, ROWS = 3, 64, 1000


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"torchrec.{module}"), name)(*arguments, **more)


def jagged(batch: int, length: int) -> object:
    """Features in another order; each of a batch has `length` ids."""
    lengths = torch.full((FEATURES, batch), length, device=DEVICE, dtype=torch.int32)
    ids = torch.zeros(FEATURES * batch * length, device=DEVICE, dtype=torch.int64)
    made = counts([2, 0, 1]), lengths, ids
    return call("sparse.triton_permute_2d", "triton_permute_2d_sparse_data", *made, permuted_lengths_sum=ids.shape[0])


def pooled(batch: int, length: int) -> object:
    """Columns of two groups of features in another order, a row for each of the batch."""
    groups = [normal(batch * length, 2 * WIDE, dtype=torch.float32) for _ in range(2)]
    # group in and out, where it begins in each, how wide it is, and what follows
    moves = counts([0, 0, 0, 0, WIDE, 0, 1, 0, 0, WIDE, WIDE, 0, 0, 1, WIDE, 0, WIDE, 0, 1, 1, WIDE, WIDE, WIDE, 0])
    shapes = counts([2 * WIDE, 2 * WIDE]), counts([2 * WIDE, 2 * WIDE])
    return call(
        "sparse.triton_permute_multi_embedding",
        "triton_permute_multi_embedding",
        groups,
        moves.view(4, 6),
        *shapes,
        [2 * WIDE, 2 * WIDE],
    )


def rows(batch: int, length: int) -> object:
    """The rows of a table that a batch asks for."""
    ids = torch.randint(0, ROWS, (batch * length,), device=DEVICE)
    return call("modules.sorted_index_select", "sorted_index_select", plain(ROWS, WIDE).requires_grad_(), ids)


OPERATORS = {"jagged": jagged, "pooled": pooled, "rows": rows}

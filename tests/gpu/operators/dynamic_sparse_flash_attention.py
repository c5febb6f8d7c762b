"""Flash attention among some queries and keys, and among those of one hash."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import HEAD, HEADS, normal

REPOSITORY = "epfml/dynamic-sparse-flash-attention"
COMMIT = "266f36a914216c439f5aa63e12b00fa8489fde95"
FOLDERS = ("openwebtext2-experiments/src/models",)
SHAPES = ((1, 64), (2, 128), (3, 200), (5, 333), (1, 512), (4, 777), (2, 1000))


def chosen(batch: int, length: int) -> object:
    """Half of the queries and keys of each head, forward and backward."""
    made = [normal(batch, length, HEADS, HEAD) for _ in range(3)]
    return importlib.import_module("qksparse_attn").attention_fn(*made, sparsity=0.5)


def hashed(batch: int, length: int) -> object:
    """Those of the same hash, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
    return importlib.import_module("hsparse_attn").attention_fn(*made, nb_hash=8)


OPERATORS = {"chosen": chosen, "hashed": hashed}

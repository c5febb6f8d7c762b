"""The bags of embeddings of Meta's memory layers, forward and backward."""

from __future__ import annotations

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, VOCABULARY, normal

REPOSITORY = "facebookresearch/memory"
COMMIT = "7f85280cee4a4696f5e0444d5657dc09282408ff"
BARE = ("lingua", "lingua.product_key")
CHOSEN = 32


def bag(batch: int, length: int) -> object:
    """The sums of the values that each token chose."""
    from lingua.product_key.xformer_embeddingbag import xformers_embedding_bag

    chosen = torch.zeros(batch * length, CHOSEN, device=DEVICE, dtype=torch.int64)
    weights = normal(batch * length, CHOSEN, dtype=torch.float32)
    return xformers_embedding_bag(chosen, normal(VOCABULARY, HIDDEN, dtype=torch.float32), weights)


OPERATORS = {"bag": bag}

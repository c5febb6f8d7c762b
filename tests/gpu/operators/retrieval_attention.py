"""RetrievalAttention's clusters of keys."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import HEAD, plain

REPOSITORY = "microsoft/RetrievalAttention"
COMMIT = "6b1228c346836769da0ed525dadf05bb7010e96b"
BARE = ("cache_hub",)
HELD = 2
SHAPES = ((1, 256), (2, 300), (3, 512), (1, 777), (2, 1024), (1, 2048), (2, 3000), (1, 5000))


def clusters(batch: int, length: int) -> object:
    """Clusters of 16 keys, in whole eights of them, as the library's configuration asks for."""
    made = plain(batch * HELD, length, HEAD), plain(batch * HELD, length, HEAD)
    centers = max(round(length / 16 / 8), 1) * 8
    return importlib.import_module("cache_hub.kmeans").segment_k_means(*made, centers, num_iters=3, num_segments=1)


OPERATORS = {"clusters": clusters}

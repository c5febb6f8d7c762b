"""Token-Sparse-Attention's weights of the tokens before a window."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import HEAD, HEADS, plain

REPOSITORY = "dongwonjo/Token-Sparse-Attention"
COMMIT = "17b64cbb573fb7c82bd1836d32fade8d17ae1e54"
WINDOW = 64
SHAPES = ((1, 100), (2, 128), (3, 256), (5, 300), (4, 777), (3, 1000), (2, 1664))


def weigh(batch: int, length: int) -> object:
    """How much the last tokens attend to each one before them."""
    made = plain(batch, HEADS, length, HEAD), plain(batch, HEADS, length, HEAD)
    name = "sparse_attn.token_sparse.kernel"
    return importlib.import_module(name).triton_get_attn_cache(*made, WINDOW)


OPERATORS = {"weigh": weigh}

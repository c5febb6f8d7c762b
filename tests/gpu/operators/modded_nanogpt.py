"""modded-nanogpt's correction of attention by the heads of each token."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import counts, normal

REPOSITORY = "KellerJordan/modded-nanogpt"
COMMIT = "f411b3d346aa52d3504324ca93c230fd84c6c07f"
HEADS, HEAD, DOCUMENTS = 6, 128, 16
SHAPES = ((1, 64), (2, 100), (3, 256), (5, 200), (1, 777))


def correction(batch: int, length: int) -> object:
    """`batch` documents in a row, and none in the other places, forward and backward."""
    tokens = batch * length
    ends = [min(i, batch) * length for i in range(DOCUMENTS + 1)]
    query, keys, values = (normal(1, tokens, HEADS, HEAD) for _ in range(3))
    weights = normal(1, tokens, HEADS), normal(1, tokens, HEADS)
    name = "dc_attention_postonly_nodd_correction_add_base_triton"
    function = getattr(importlib.import_module("dc_triton_kernels"), name)
    made = normal(tokens, HEADS, HEAD), query, keys, values, weights, None
    return function(*made, scaling=0.1, window=112, seq_lens=counts(ends, torch.int32))


OPERATORS = {"correction": correction}

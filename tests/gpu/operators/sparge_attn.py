"""SpargeAttn's map of blocks that matter, and its eight bits."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import HEADS, plain

REPOSITORY = "thu-ml/SpargeAttn"
COMMIT = "bfd980b781784c04ad6a53e7ee657c0645d99171"
BARE = ("spas_sage_attn",)
HEAD = 64
# The library takes 128 tokens at least.
SHAPES = ((1, 128), (2, 200), (3, 300), (5, 512), (1, 640), (4, 777), (2, 1000), (3, 1664))


def blocks(batch: int, length: int) -> object:
    """Which blocks matter, and queries and keys in eight bits: what the kernels in CUDA take."""
    query, keys = plain(batch, HEADS, length, HEAD), plain(batch, HEADS, length, HEAD)
    found = importlib.import_module("spas_sage_attn.utils")
    mean = keys.mean(-2, keepdim=True)
    found.get_vanilla_qk_quant(query, keys, mean)
    more = {"simthreshd1": -0.1, "cdfthreshd": None, "topk": 0.5, "return_lut": True}
    return found.get_block_map_meansim_fuse_quant(query, keys, mean, **more)


OPERATORS = {"blocks": blocks}

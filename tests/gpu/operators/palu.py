"""Palu's scores of one query against keys of low rank."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, plain

REPOSITORY = "shadowpa0327/Palu"
COMMIT = "bb22666e2ef96707e8dd21d93fc00146c2e0d615"
BARE = ("kernel",)
UNUSED = (
    "transformers",
    "transformers.models",
    "transformers.models.llama",
    "transformers.models.llama.modeling_llama",
)
RANK = 64
SHAPES = ((1, 16), (1, 48), (1, 100), (1, 127), (1, 200), (1, 333), (1, 512), (1, 777), (1, 1000))


def scores(batch: int, length: int) -> object:
    """One query against `length` keys; the kernel takes one sequence."""
    query = plain(HEADS, 1, HEAD, dtype=torch.float16)
    rebuild = plain(HEADS, RANK, HEAD, dtype=torch.float16)
    hidden = plain(HEADS // 2, length, RANK, dtype=torch.float16)
    return importlib.import_module("kernel.abx_rope").abx(query, rebuild, hidden)


OPERATORS = {"scores": scores}

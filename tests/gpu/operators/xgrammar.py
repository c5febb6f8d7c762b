"""xgrammar's mask of the tokens that a grammar allows."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, VOCABULARY, plain

PACKAGE = Package("xgrammar", "0.2.8")
BARE = ("xgrammar", "xgrammar.kernels")


def mask(batch: int, length: int) -> object:
    """The next token of each sequence, with all rows and with some."""
    library = importlib.import_module("xgrammar.kernels.apply_token_bitmask_inplace_triton")
    allowed = torch.zeros(batch, -(-VOCABULARY // 32), device=DEVICE, dtype=torch.int32)
    logits = plain(batch, VOCABULARY, dtype=torch.float32)
    library.apply_token_bitmask_inplace_triton(logits, allowed)
    return library.apply_token_bitmask_inplace_triton(logits, allowed, None, list(range(0, batch, 2)))


OPERATORS = {"mask": mask}

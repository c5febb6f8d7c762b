"""HiP Attention's tools beside its attention: norms of scores, their loss, a loss over the vocabulary, corrections."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import ANY, CHUNKS, DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, normal, plain

PACKAGE = Package("hip-attn", "1.2.9")
BARE = ("hip_attn", "hip_attn.utils", "hip_attn.v1_2", "hip_attn.v1_2.delta")
SHAPES = ANY[3:]
SHAPES_OF = {"correction": CHUNKS}


def call(module: str, name: str, *arguments: Any) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"hip_attn.{module}"), name)(*arguments)


def halves(*shape: int) -> torch.Tensor:
    """Half precision."""
    return plain(*shape, dtype=torch.float16)


def norms(batch: int, length: int) -> object:
    """The norm of each query's scores."""
    made = [halves(batch * HEADS, length, HEAD) for _ in range(2)]
    return call("utils.attention_norm", "attention_norm", *made)


def loss_of_scores(batch: int, length: int) -> object:
    """A loss that makes scores sparse."""
    made = [normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(2)]
    return call("utils.attn_l1_loss", "compute_attn_lp_loss_triton", *made, 0.5)


def loss(batch: int, length: int) -> object:
    """Cross entropy without all logits at once."""
    labels = torch.randint(0, VOCABULARY, (batch * length,), device=DEVICE)
    made = halves(batch * length, HIDDEN), halves(VOCABULARY, HIDDEN), labels
    return call("utils.memory_efficient_llm_ce", "memory_efficient_llm_ce", *made)


def correction(batch: int, length: int) -> object:
    """Sparse results corrected by some dense ones."""
    index = torch.arange(0, length, 16, device=DEVICE)
    made = halves(batch, len(index), HEADS, HEAD), halves(batch, length, HEADS, HEAD), index
    return call("v1_2.delta.apply_delta", "apply_delta", *made, 16, 16, False)


OPERATORS = {"norms": norms, "loss-of-scores": loss_of_scores, "loss": loss, "correction": correction}

"""flash_bla's linear attention to all tokens, of whole batches and of packed ones, and by pieces."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tests.gpu.operators.tensors import HEAD, HEADS, lengths, normal, plain, starts

if TYPE_CHECKING:
    import torch

REPOSITORY = "fla-org/flash-bidirectional-linear-attention"
COMMIT = "dd222769550d320bbb67edf3d78ddd5b8cfabb4d"
DENSITY = 0.1


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"flash_bla.ops.{module}"), name)(*arguments, **more)


def heads(batch: int, length: int, many: int = 3) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [normal(batch, HEADS, length, HEAD) for _ in range(many)]


def linear(batch: int, length: int) -> object:
    """Linear attention with a norm, forward and backward."""
    return call("linear_attn.fused", "linear_attention", *heads(batch, length))


def decoupled(batch: int, length: int) -> object:
    """Linear attention whose norm has no positions, forward and backward."""
    return call("linear_attn.decoupled", "decoupled_la", *heads(batch, length, 5))


def packed(batch: int, length: int) -> object:
    """Linear attention of sequences one after another, forward and backward."""
    many = lengths(batch, length)
    made = [normal(sum(many), HEADS, HEAD) for _ in range(3)]
    return call("linear_attn.varlen", "varlen_linear_attention", *made, starts(many), max(many))


def simple(batch: int, length: int) -> object:
    """Linear attention without a norm, forward and backward."""
    return call("simple_la.fused", "simple_la", *heads(batch, length))


def piecewise(batch: int, length: int) -> object:
    """Attention to the best blocks, linear to the others."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(3)]
    return call("piecewise_attn.kernel", "piecewise_sparse_attention", *made, density=DENSITY)


OPERATORS = {"linear": linear, "decoupled": decoupled, "packed": packed, "simple": simple, "piecewise": piecewise}

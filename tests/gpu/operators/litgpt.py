"""litgpt's kernels for thunder: loss, rotary embedding and activation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "Lightning-AI/litgpt"
COMMIT = "26857050fe3ff627cd714fe92f5838f51a3d5efa"
BARE = ("litgpt",)
UNUSED = ("lightning_utilities", "lightning_utilities.core", "lightning_utilities.core.imports")


def of(module: str) -> object:
    """One module of the kernels."""
    return importlib.import_module(f"extensions.thunder.unsloth.kernels.{module}")


def cross_entropy(vocabulary: int) -> Callable[[int, int], object]:
    """The loss over a vocabulary, and its gradient."""

    def call(batch: int, length: int) -> object:
        rows = batch * length
        logits = plain(rows, vocabulary)
        labels = torch.randint(0, vocabulary, (rows,), device=DEVICE)
        module = of("cross_entropy_loss")
        losses, sums = module._cross_entropy_forward_impl(logits, labels)
        module._cross_entropy_backward_impl(torch.ones_like(losses), logits, sums, labels)

    return call


def rotary(batch: int, length: int) -> object:
    """The embedding of positions, and its gradient."""
    module = of("rope_embedding")
    angles = [plain(1, 1, length, HEAD) for _ in range(2)]
    rotated, *rest = module._rope_embedding_forward_impl(plain(batch, HEADS, length, HEAD), *angles)
    module._rope_embedding_backward_impl(torch.ones_like(rotated), *rest)


def swiglu(batch: int, length: int) -> object:
    """The activation, and its gradient."""
    module = of("swiglu")
    module.swiglu_fg_kernel(plain(batch, length, HIDDEN), plain(batch, length, HIDDEN))
    module.swiglu_DWf_DW_dfg_kernel(*(plain(batch * length, HIDDEN) for _ in range(3)))


OPERATORS = {
    "cross-entropy": cross_entropy(VOCABULARY),
    "cross-entropy-chunks": cross_entropy(130_000),
    "rotary": rotary,
    "swiglu": swiglu,
}

"""Training with two of four weights: gates, pruning, its formats, and products."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HIDDEN, normal, plain

REPOSITORY = "huyz2023/2by4-pretrain"
COMMIT = "9e330125dea71e5a3dee235f4efb8869f9e4cdd0"
BARE = ("sparse",)
WIDE = 1024
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"sparse.{module}"), name)(*arguments, **more)


def half(*shape: int) -> torch.Tensor:
    """Random numbers in half precision."""
    return plain(*shape, dtype=torch.float16)


def gate(batch: int, length: int) -> object:
    """A gated layer's gate, forward and backward."""
    return importlib.import_module("sparse.GELUglu").GELUglu()(normal(batch, length, 2 * WIDE, dtype=torch.float16))


def thin(batch: int, length: int) -> object:
    """Gradients with two of four left, in three ways."""
    tokens = half(batch * length, HIDDEN)
    for name in ("MVUE24_approx_triton", "sparse24_triton", "soft_threshold24_triton"):
        call("triton_ops", name, tokens)
    return None


def multiply(batch: int, length: int) -> object:
    """Tokens times a weight."""
    return call("matmul", "matmul", half(batch * length, HIDDEN), half(HIDDEN, WIDE))


def decay(*_: int) -> object:
    """Decay of what is pruned of a weight."""
    return call("decay", "masked_add_", half(WIDE, HIDDEN), half(WIDE, HIDDEN), half(WIDE, HIDDEN), 0.03)


def mask(*_: int) -> object:
    """A weight's mask that is one for its transpose too."""
    module = importlib.import_module("sparse.transposable_semi_structured")
    return module.TransposableSparse()(half(WIDE, HIDDEN))


def compress(batch: int, length: int) -> object:
    """Gradients of all tokens into the sparse format and back."""
    tokens, module = batch * length, "_semi_structured_conversions"
    kept = torch.empty(HIDDEN, tokens // 2, device=DEVICE, dtype=torch.float16)
    meta = torch.empty(HIDDEN, tokens // 16, device=DEVICE, dtype=torch.int16)
    call(module, "sparse_semi_structured_from_dense_triton", half(HIDDEN, tokens), kept, meta, MVUE24=True)
    return call(module, "_sparse_semi_structured_to_dense_triton", kept, meta)


OPERATORS = {
    "gate": gate,
    "thin": thin,
    "multiply": multiply,
    "decay": decay,
    "mask": mask,
    "compress": compress,
}
SHAPES_OF = {"compress": CHUNKS}

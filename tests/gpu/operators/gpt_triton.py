"""A GPT in Triton: embeddings, norm, layers and attention."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, plain

REPOSITORY = "thevasudevgupta/gpt-triton"
COMMIT = "6a12b71e4e332a2077e6b7f742f97c7160fe0242"
POSITIONS = 1024


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("kernels"), name)(*arguments, **more)


def half(*shape: int) -> torch.Tensor:
    """Half precision, as the model has it."""
    return plain(*shape, dtype=torch.float16)


def embeddings(batch: int, length: int) -> object:
    """Tokens and positions."""
    tokens = torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)
    return call("fused_embeddings", tokens, half(VOCABULARY, HIDDEN), half(POSITIONS, HIDDEN))


def norm(batch: int, length: int) -> object:
    """A norm of all tokens."""
    return call("fused_layer_norm", half(batch, length, HIDDEN), half(HIDDEN), half(HIDDEN))


def layer(batch: int, length: int) -> object:
    """A layer with its activation, and one with the residual."""
    tokens = half(batch, length, HIDDEN)
    wide = call("fused_ffn", tokens, half(HIDDEN, 4 * HIDDEN), bias=half(4 * HIDDEN), add_gelu=True)
    return call("fused_ffn", wide, half(4 * HIDDEN, HIDDEN), bias=half(HIDDEN), residual=tokens)


def attention(batch: int, length: int) -> object:
    """Attention of a prompt to itself."""
    return call("flash_attention_v1", *(half(batch, HEADS, length, HEAD) for _ in range(3)))


OPERATORS = {"embeddings": embeddings, "norm": norm, "layer": layer, "attention": attention}

"""OpenAI's products with the sparse codes of an autoencoder."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "openai/sparse_autoencoder"
COMMIT = "4965b941e9eb590b00b253a2c406db1e1b193942"
BARE = ("sparse_autoencoder",)
LATENTS, ACTIVE = 2048, 32


def call(name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("sparse_autoencoder.kernels"), name)(*arguments)


def codes(tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The active latents of each token, and how active they are."""
    indices = torch.arange(tokens * ACTIVE, device=DEVICE).view(tokens, ACTIVE) % LATENTS
    return indices, plain(tokens, ACTIVE, dtype=torch.float32)


def decode(batch: int, length: int) -> object:
    """Decode the codes of all tokens."""
    decoder = plain(LATENTS, HIDDEN, dtype=torch.float32)
    return call("triton_sparse_dense_matmul", *codes(batch * length), decoder)


def decode_backward(batch: int, length: int) -> object:
    """The gradients of the decoder and of the codes."""
    tokens = batch * length
    indices, values = codes(tokens)
    gradient = plain(tokens, HIDDEN, dtype=torch.float32)
    call("triton_sparse_transpose_dense_matmul", indices, values, gradient, LATENTS)
    decoder = plain(LATENTS, HIDDEN, dtype=torch.float32)
    return call("triton_dense_dense_sparseout_matmul", gradient, decoder.T, indices)


def losses(batch: int, length: int) -> object:
    """The error of a reconstruction, a sum over tokens, and a fused sum."""
    made, wanted = (plain(batch * length, HIDDEN, dtype=torch.float16) for _ in range(2))
    call("triton_sum_dim0_in_fp32", made)
    call("triton_add_mul_", made, wanted, wanted, 0.5)
    return call("mse", made, wanted)


OPERATORS = {"decode": decode, "decode-backward": decode_backward, "losses": losses}

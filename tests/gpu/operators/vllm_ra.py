"""RelayAttention's fusion of the attention to a shared prompt and to the rest."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, plain

REPOSITORY = "rayleizhu/vllm-ra"
COMMIT = "46a1ce0fe199f3698fd8ee8866063a018b4a5140"
BARE = ("vllm", "vllm.functional")


def fuse(batch: int, length: int) -> object:
    """Two attentions of all tokens, whose sums lie by heads or by tokens."""
    library = importlib.import_module("vllm.functional.relayattn_ops")
    tokens = batch * length
    shared, rest = (plain(tokens, HEADS, HEAD, dtype=torch.float16) for _ in range(2))
    by_head = plain(HEADS, tokens, dtype=torch.float32)
    by_token = plain(tokens, HEADS, dtype=torch.float32)
    return library.relay_fusion(shared, by_head, rest, by_token, "triton", True, False)


OPERATORS = {"fuse": fuse}

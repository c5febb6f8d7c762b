"""Attention whose scores are mixed over tokens and heads, before and after the softmax."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, normal, plain

REPOSITORY = "Gusanidas/multitokenatention_triton"
COMMIT = "f2d64d8e2c5b000aa18db045b2946e8f5426dd1f"
HEADS, TOKENS_BEFORE, TOKENS_AROUND = 16, 5, 9
# Scores of all pairs of tokens are kept.
SHAPES = ((1, 16), (2, 33), (3, 100), (1, 200), (2, 300), (2, 512), (1, 777))


def mixed(batch: int, length: int) -> object:
    """Convolutions of scores and sums over heads, forward and backward."""
    widths = {"query_kernel_size": TOKENS_BEFORE, "key_kernel_size": TOKENS_AROUND}
    given = SimpleNamespace(
        **widths, use_mta=True, pre_sm_linear_head=True, pad_key="both", init_method="identity", dim=HEADS * HEAD
    )
    layer = importlib.import_module("mta_attention_triton").MTAAttentionTriton(HEADS, given, 0.0, True)
    made = [normal(batch, HEADS, length, HEAD, dtype=torch.float32) for _ in range(3)]
    return layer.to(DEVICE)(*made, None, None)


def fused(batch: int, length: int) -> object:
    """Scores and their convolution in one kernel."""
    made = [plain(batch, HEADS, length, HEAD, dtype=torch.float32) for _ in range(3)]
    weights = plain(HEADS, TOKENS_BEFORE, TOKENS_AROUND, dtype=torch.float32)
    return importlib.import_module("conv_attention_triton").TritonAttention.apply(*made, weights, True, HEAD**-0.5)


OPERATORS = {"mixed": mixed, "fused": fused}

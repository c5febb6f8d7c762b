"""The operators of lightning-attn."""

from __future__ import annotations

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, normal


def decaying(batch: int, length: int) -> object:
    """Attention whose heads forget at slopes of their own."""
    from lightning_attn.ops.triton import lightning_attn2

    made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
    return lightning_attn2(*made, torch.rand(HEADS, 1, 1, device=DEVICE))


def lasting(batch: int, length: int) -> object:
    """Attention that forgets nothing."""
    from lightning_attn.ops.triton import lightning_attn2_no_decay

    return lightning_attn2_no_decay(*(normal(batch, HEADS, length, HEAD) for _ in range(3)))


def interface(batch: int, length: int) -> object:
    """The package's own front door."""
    from lightning_attn.ops import lightning_attn_func

    made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
    return lightning_attn_func(*made, torch.rand(HEADS, 1, 1, device=DEVICE))


def norm(batch: int, length: int) -> object:
    """The norm that goes with it."""
    from lightning_attn.ops.triton import SimpleRMSNorm

    return SimpleRMSNorm(HIDDEN)(normal(batch, length, HIDDEN))


OPERATORS = {"decaying": decaying, "lasting": lasting, "interface": interface, "norm": norm}

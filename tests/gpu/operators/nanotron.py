"""nanotron's attention in a ring, of one process."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING
from unittest.mock import patch

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "huggingface/nanotron"
COMMIT = "2411b022a75fb7f7561a1bb4166706da5e1b76de"
FOLDERS = ("src",)
BARE = ("nanotron", "nanotron.nn")
BUCKET = 128


def attention() -> object:
    """The module, which wants a distribution called triton-nightly."""
    with patch.object(importlib.metadata, "version", lambda name: "3.6.0"):
        return importlib.import_module("nanotron.nn.ring_attention_lucidrain")


def ring(
    *, causal: bool, masked: bool = False, heads: int = HEADS, clamp: bool = False
) -> Callable[[int, int], object]:
    """Attention in a ring; `heads` are of keys and values."""

    def call(batch: int, length: int) -> object:
        random = plain if masked else normal  # its backward pass takes no mask
        q = random(batch, length, HEADS, HEAD, dtype=torch.float16)
        k, v = (random(batch, length, heads, HEAD, dtype=torch.float16) for _ in range(2))
        mask = torch.ones(batch, length, device=DEVICE, dtype=torch.bool) if masked else None
        more = {"is_causal": causal, "bucket_size": BUCKET, "softclamp_qk_sim": clamp}
        (output,) = attention().ring_flash_attn_cuda(torch.nn.Module(), q, k, v, mask, **more)
        return output

    return call


OPERATORS = {
    "full": ring(causal=False),
    "full-masked": ring(causal=False, masked=True),
    "causal": ring(causal=True),
    "causal-grouped": ring(causal=True, heads=2),
    "causal-clamped": ring(causal=True, clamp=True),
}

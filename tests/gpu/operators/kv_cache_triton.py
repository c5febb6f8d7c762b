"""kv-cache-triton's attention of two models to keys and values of 4 bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, plain

REPOSITORY = "johnchmura/kv-cache-triton"
COMMIT = "acf2f746e0bc2621b69c361591779df9b5460c01"
HEADS, HELD, GROUP = 8, 2, 32


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"kernels.{module}"), name)(*arguments, **more)


def half(*shape: int) -> torch.Tensor:
    """A tensor of 16 bits."""
    return plain(*shape, dtype=torch.float16)


def packed(batch: int, heads: int, length: int) -> list[torch.Tensor]:
    """Keys and values of 4 bits, each with its scales."""
    made = [torch.zeros(batch, heads, length, HEAD // 2, device=DEVICE, dtype=torch.uint8) for _ in range(2)]
    return [one for small in made for one in (small, half(batch, heads, length, HEAD // GROUP))]


def plainly(batch: int, length: int) -> object:
    """Attention to the tokens before, of 16 bits."""
    made = [half(batch, HEADS, length, HEAD) for _ in range(3)]
    return call("gpt2.attention", "attention_forward", *made, is_causal=True)


def small(batch: int, length: int) -> object:
    """Attention of all tokens, and of one, to keys of 4 bits."""
    for asked in (length, 1):
        made = half(batch, HEADS, asked, HEAD), *packed(batch, HEADS, length)
        call("gpt2.attention_quant", "attention_forward_quant", *made, is_causal=asked > 1)
    return None


def grouped(batch: int, length: int) -> object:
    """The same where heads share keys, for new devices and for old ones."""
    heads = {"n_q_heads": HEADS, "n_kv_heads": HELD}
    for asked in (length, 1):
        made = half(batch, HEADS, asked, HEAD), *packed(batch, HELD, length)
        for part in ("", "_sm70"):
            name = f"attention_forward_quant_gqa{part}"
            call(f"llama3.attention_quant{part}", name, *made, **heads, is_causal=asked > 1)
    return None


def rounded(batch: int, length: int) -> object:
    """Keys of both models to 4 bits and back."""
    for module, heads in (("gpt2.quantize", HEADS), ("llama3.quantize", HELD), ("llama3.quantize_sm70", HELD)):
        held, scales = call(module, "quantize_int4", half(batch, heads, length, HEAD))
        call(module, "dequantize_int4", held, scales, d_head=HEAD)
    return None


OPERATORS = {"plainly": plainly, "small": small, "grouped": grouped, "rounded": rounded}

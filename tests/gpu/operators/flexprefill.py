"""FlexPrefill's attention to blocks, to lines and to windows, with its rotations."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import ANY, DEVICE, HEAD, plain

REPOSITORY = "bytedance/FlexPrefill"
COMMIT = "a24b27bf117fd6ad4ba34b0db82c598e7786fd59"
BARE = ("flex_prefill", "flex_prefill.modules", "flex_prefill.modules.llama")
UNUSED = ("flash_attn", "transformers", "transformers.utils")
HEADS, HELD, WIDE, WINDOW, BLOCK = 8, 2, 256, 64, 128
SHAPES_OF = {"blocks": ANY[1:], "lines": tuple((batch, 128 * length) for batch, length in ((1, 4), (2, 5), (3, 8)))}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"flex_prefill.{module}"), name)(*arguments, **more)


def heads(batch: int, asked: int, held: int) -> list[torch.Tensor]:
    """Queries, and keys and values of fewer heads."""
    return [plain(batch, asked, HEADS, HEAD), *(plain(batch, held, HELD, HEAD) for _ in range(2))]


def blocks(batch: int, length: int) -> object:
    """Attention to the blocks beside the diagonal, of all tokens."""
    made, wide = heads(batch, length, length), -(-length // BLOCK)
    chosen = (torch.arange(wide, device=DEVICE) * (wide + 1)).expand(batch, HEADS, wide).contiguous()
    return call("ops.flex_prefill_attention", "triton_block_wise_attention", *made, chosen, BLOCK)


def dense(batch: int, length: int) -> object:
    """Attention of all tokens, and of one."""
    call("ops.flex_prefill_attention", "triton_flash_attention", *heads(batch, length, length))
    return call("ops.flex_prefill_attention", "triton_flash_attention", *heads(batch, 1, length), causal=False)


def streaming(batch: int, length: int) -> object:
    """Attention to the first tokens and the last."""
    made = *heads(batch, length, length), WINDOW, WIDE
    return call("ops.streaming_llm_attention", "streaming_llm_attention", *made)


def lines(batch: int, length: int) -> object:
    """Attention to columns and diagonals."""
    made = *heads(batch, length, length), 128, WIDE, WIDE
    return call("ops.vertical_slash_attention", "vertical_slash_attention", *made)


def rotate(batch: int, length: int) -> object:
    """Positions as rotations."""
    tokens = plain(batch, HEADS, length, HEAD), plain(batch, HELD, length, HEAD)
    angles = plain(batch, length, HEAD), plain(batch, length, HEAD)
    return call("modules.llama.apply_rope", "triton_apply_rotary_pos_emb", *tokens, *angles)


def pool(batch: int, length: int) -> object:
    """Means of blocks of tokens."""
    return call("ops.flex_prefill_attention", "triton_bnhd_pool", plain(batch, length, HEADS, HEAD), 128)


OPERATORS = {"blocks": blocks, "dense": dense, "streaming": streaming, "lines": lines, "rotate": rotate, "pool": pool}

"""SeerAttention's pooled and sparse attention."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, counts, lengths, normal, plain, starts

REPOSITORY = "microsoft/SeerAttention"
COMMIT = "aba03e3f2caefd0ccd21e576670aa830b748c84e"
BARE = ("seer_attn", "seer_attn.kernels", "seer_attn.kernels.varlen", "seer_attn.modules")
UNUSED = ("flash_attn", "seer_attn.modules.common")
HELD, BLOCK = HEADS // 2, 64


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"seer_attn.kernels.{module}"), name)(*arguments, **more)


def blocks_of(length: int) -> int:
    """How many blocks `length` tokens fill."""
    return -(-length // BLOCK)


def pooled(batch: int, length: int) -> object:
    """A prompt, with what each block sees of the others."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(3)]
    return call("attn_pooling_kernel_2d", "attn_with_pooling", *made, True, HEAD**-0.5, BLOCK)


def sparse(batch: int, length: int) -> object:
    """A prompt that sees some blocks."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(3)]
    seen = torch.ones(batch, HEADS, blocks_of(length), blocks_of(length), device=DEVICE, dtype=torch.bool)
    return call("block_sparse_attn", "block_sparse_triton_fn", *made, seen, HEAD**-0.5)


def packed_pooled(batch: int, length: int) -> object:
    """The same of sequences that lie one after another."""
    sizes = lengths(batch, length)
    query, keys, values = plain(sum(sizes), HEADS, HEAD), plain(sum(sizes), HELD, HEAD), plain(sum(sizes), HELD, HEAD)
    numbers = starts(sizes), length, HEAD**-0.5
    call("varlen.attn_pooling_kernel_varlen", "attn_pooling_qk_varlen", query, keys, *numbers)
    return call("varlen.attn_pooling_qkv_varlen_1d", "attn_pooling_qkv_varlen", query, keys, values, *numbers)


def packed_sparse(name: str, heads: int) -> Any:
    """Sequences one after another that see some blocks, forward and backward."""

    def run(batch: int, length: int) -> object:
        sizes = lengths(batch, length)
        made = normal(sum(sizes), HEADS, HEAD), normal(sum(sizes), HELD, HEAD), normal(sum(sizes), HELD, HEAD)
        ends, wide = starts(sizes), blocks_of(length)
        seen = torch.ones(batch, heads, wide, wide, device=DEVICE, dtype=torch.bool)
        module = importlib.import_module(f"seer_attn.kernels.varlen.{name}")
        operator = module._block_sparse_attn_varlen
        return operator.apply(*made, ends, ends, length, HEAD**-0.5, seen, BLOCK)

    return run


def left_padded(batch: int, length: int) -> object:
    """The same of sequences that were padded at the left."""
    sizes = lengths(batch, length)
    made = plain(sum(sizes), HEADS, HEAD), plain(sum(sizes), HELD, HEAD), plain(sum(sizes), HELD, HEAD)
    seen = torch.ones(batch, HEADS, blocks_of(length), blocks_of(length), device=DEVICE, dtype=torch.bool)
    module = "varlen.block_sparse_attn_varlen_2d_leftpad"
    return call(module, "blocksparse_flash_attn_varlen_leftpad", *made, starts(sizes), length, HEAD**-0.5, seen, BLOCK)


def decode(batch: int, length: int) -> object:
    """One token of each sequence: against the blocks of a mask, and against all."""
    query = plain(batch, HEADS, HEAD)
    caches = [plain(batch, length, HELD, HEAD) for _ in range(2)]
    held = counts(lengths(batch, length))
    seen = torch.ones(batch, HELD, blocks_of(length), device=DEVICE, dtype=torch.bool)
    module = "varlen.block_sparse_flash_decode_varlen_mask"
    call(module, "block_sparse_flash_decode_gqa_mask", query, *caches, held, length, seen, BLOCK)
    module = "varlen.block_sparse_flash_decode_varlen_mask_leftpad"
    call(module, "block_sparse_flash_decode_leftpad_gqa_mask", query, *caches, held, seen, BLOCK)
    return call("varlen.flash_decode_varlen_left_pad_max_v2", "flash_decode_leftpad", query, *caches, held, BLOCK)


def pool(batch: int, length: int) -> object:
    """Queries of each block, by their maximum and by their mean."""
    sizes = lengths(batch, length)
    call("varlen.pooling_varlen", "maxpool_varlen", normal(sum(sizes), HEADS, HEAD), starts(sizes), length, BLOCK)
    return call(
        "varlen.pooling_varlen", "avgpool_varlen", normal(sum(sizes), HEADS, HEAD), starts(sizes), length, BLOCK
    )


OPERATORS = {
    "pooled": pooled,
    "sparse": sparse,
    "packed-pooled": packed_pooled,
    "packed-sparse": packed_sparse("block_sparse_attn_varlen_2d", HEADS),
    "packed-sparse-grouped": packed_sparse("block_sparse_attn_varlen_gqa", HELD),
    "left-padded": left_padded,
    "decode": decode,
    "pool": pool,
}

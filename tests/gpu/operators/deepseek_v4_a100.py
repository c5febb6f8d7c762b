"""A patch of SGLang for DeepSeek V4 on A100: sparse attention, its index, rows of caches, rotations."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, counts, plain

REPOSITORY = "Qeeweew/deepseek-v4-a100-sglang"
COMMIT = "d3987e718f0f0d835e97b1ff43a95af282494c85"
BARE = ("dsv4_a100_patch", "dsv4_a100_patch.triton_kernels")
HEADS, HEAD, CHOSEN, ROWS, PAGE = 16, 128, 128, 8192, 64
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))
CACHES = ((1, 1), (2, 33), (3, 100), (4, 777), (1, 3000), (2, 4096))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"dsv4_a100_patch.triton_kernels.{module}"), name)(*arguments, **more)


def chosen(tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows that each token attends to, and how many they are."""
    rows = torch.randint(ROWS, (tokens, CHOSEN), device=DEVICE, dtype=torch.int32)
    return rows, counts([CHOSEN] * tokens)


def attend(batch: int, length: int) -> object:
    """Attention to chosen rows."""
    tokens = batch * length
    made = plain(tokens, HEADS, HEAD), plain(ROWS, HEAD), *chosen(tokens)
    return call("attention", "direct_sparse_attention", *made, HEAD**-0.5, plain(HEADS, dtype=torch.float32))


def attend_twice(batch: int, length: int) -> object:
    """Attention to chosen rows of two caches."""
    tokens = batch * length
    made = plain(tokens, HEADS, HEAD), plain(ROWS, HEAD), *chosen(tokens), plain(ROWS, HEAD), *chosen(tokens)
    return call("attention", "direct_dual_sparse_attention", *made, HEAD**-0.5)


def pages(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """How long each sequence is, and its pages."""
    wide = -(-length // PAGE)
    table = torch.arange(batch * wide, device=DEVICE, dtype=torch.int32).view(batch, wide)
    return counts([length] * batch), table


def index(batch: int, length: int) -> object:
    """How much a token wants of each one before it."""
    many, table = pages(batch, length)
    made = plain(batch, 1, HEADS, HEAD), plain(ROWS // PAGE, PAGE, 1, HEAD), plain(batch, HEADS, dtype=torch.float32)
    return call("indexer", "bf16_paged_mqa_logits", *made, many, table, None, table.shape[1] * PAGE)


def index_eight(batch: int, length: int) -> object:
    """The same in eight bits."""
    many, table = pages(batch, length)
    query = torch.randint(-127, 127, (batch, 1, HEADS, HEAD), device=DEVICE, dtype=torch.int8)
    kept = torch.zeros(ROWS // PAGE, PAGE * (HEAD + 4), device=DEVICE, dtype=torch.uint8)
    made = query, kept, plain(batch, HEADS, dtype=torch.float32)
    return call("indexer", "int8_paged_mqa_logits", *made, many, table, None, table.shape[1] * PAGE)


def rotate(batch: int, length: int) -> object:
    """Rotations of queries and keys in place, of all of a head and of its tail."""
    tokens = batch * length
    places = torch.arange(tokens, device=DEVICE)
    turns = torch.zeros(ROWS, HEAD // 2, device=DEVICE, dtype=torch.complex64)
    call("elementwise", "fused_rope_inplace", plain(tokens, HEADS, HEAD), plain(tokens, 1, HEAD), turns, places)
    tail = plain(ROWS, 64, dtype=torch.float32)
    return call("indexer", "apply_rotary_tail_inplace", plain(tokens, HEADS, HEAD), tail, places)


def scatter(batch: int, length: int) -> object:
    """Rows of all tokens into a cache."""
    tokens = batch * length
    made = plain(ROWS, HEAD), torch.randint(ROWS, (tokens,), device=DEVICE), plain(tokens, HEAD)
    return call("kv_ops", "scatter_bf16_rows", *made)


def gather(batch: int, length: int) -> object:
    """Chosen rows of a cache, and tables of them for as many tokens as run."""
    tokens = batch * length
    rows, many = chosen(tokens)
    call("kv_ops", "trim_and_pad_rows", rows, many, tokens)
    return call("kv_ops", "gather_bf16_kv", plain(ROWS, HEAD), rows, many, CHOSEN)[0]


def shrink(batch: int, length: int) -> object:
    """Tokens to eight bits."""
    return call("mxfp4_int8_moe", "quantize_per_token_int8", plain(batch * length, 512))


OPERATORS = {
    "attend": attend,
    "attend_twice": attend_twice,
    "index": index,
    "index_eight": index_eight,
    "rotate": rotate,
    "scatter": scatter,
    "gather": gather,
    "shrink": shrink,
}
SHAPES_OF = {"index": CACHES, "index_eight": CACHES}

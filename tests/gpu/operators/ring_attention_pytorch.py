"""ring-attention-pytorch's attention on one device, whole and of one token to a tree of keys."""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, normal, plain

REPOSITORY = "lucidrains/ring-attention-pytorch"
COMMIT = "373f75b725c2111bfe6a8d47c72a0b01995150c5"
UNUSED = ("beartype", "jaxtyping", "rotary_embedding_torch")
BUCKET, SOFT = 512, 50.0


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library, which asks for the version of a package that Triton's nightly builds had."""
    told = metadata.version
    vars(metadata)["version"] = lambda package: told(package.removesuffix("-nightly"))
    try:
        importlib.import_module("ring_attention_pytorch.triton_flash_attn")
    finally:
        vars(metadata)["version"] = told
    return getattr(importlib.import_module(f"ring_attention_pytorch.{module}"), name)(*arguments, **more)


def attend(batch: int, length: int, causal: bool, soft: bool = False) -> object:
    """One device's attention, forward and backward."""
    made = [normal(batch, length, HEADS, HEAD, dtype=torch.float16) for _ in range(3)]
    more = None, causal, BUCKET, False, False, None, None, soft, SOFT
    return call("ring_flash_attention_cuda", "ring_flash_attn_cuda_", *made, *more)


def whole(batch: int, length: int) -> object:
    """Attention to all tokens."""
    return attend(batch, length, False)


def causal(batch: int, length: int) -> object:
    """Attention to the tokens before."""
    return attend(batch, length, True)


def clamped(batch: int, length: int) -> object:
    """Attention to the tokens before, of bounded scores."""
    return attend(batch, length, True, True)


def tree(batch: int, length: int) -> object:
    """Attention of one token to the keys of this device."""
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    made = plain(batch, HEADS, 1, HEAD), plain(batch, HEADS, length, HEAD), plain(batch, HEADS, length, HEAD)
    return call("tree_attn_decoding", "tree_attn_decode", *made, shard_kv_seq=False, use_triton=True)


OPERATORS = {"whole": whole, "causal": causal, "clamped": clamped, "tree": tree}

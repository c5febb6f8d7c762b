"""nano-vllm-moe's layers of experts, and its cache."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, PAGE, PAGES, plain

REPOSITORY = "potatoZhx/nano-vllm-moe"
COMMIT = "b7cd44839feb265fbd4de3f092913aa753a7376e"
BARE = ("nanovllm", "nanovllm.utils", "nanovllm.layers", "nanovllm.layers.fuse_moe")
UNUSED = ("flash_attn",)
EXPERTS, WIDE = 8, 256


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"nanovllm.layers.{module}"), name)(*arguments)


def experts(batch: int, length: int) -> object:
    """Tokens in the order of their experts through these."""
    tuned = importlib.import_module("nanovllm.layers.fuse_moe.autotuning")
    # Of all configs the first are kept, and the library prunes small ones.
    vars(tuned).update({f"DEFAULT_{side}_BLOCK_SIZES": [64] for side in "MNK"})
    many = torch.full((EXPERTS,), batch * length, device=DEVICE, dtype=torch.int32)
    made = plain(EXPERTS * batch * length, HIDDEN), plain(EXPERTS, WIDE, HIDDEN)
    return call("fuse_moe.functional", "fused_moe_linear", *made, many)


def store(batch: int, length: int) -> object:
    """All tokens into the cache."""
    tokens = batch * length
    pages = [plain(PAGES, PAGE, HEADS, HEAD) for _ in range(2)]
    places = torch.arange(tokens, device=DEVICE, dtype=torch.int32) % (PAGES * PAGE)
    return call("attention", "store_kvcache", *(plain(tokens, HEADS, HEAD) for _ in range(2)), *pages, places)


OPERATORS = {"experts": experts, "store": store}

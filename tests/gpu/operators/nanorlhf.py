"""nanoRLHF's attention, cache and norm."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, counts, lengths, normal, plain, starts

PACKAGE = Package("nanorlhf", "1.0.0")
BARE = ("nanorlhf", "nanorlhf.kernels")
HELD, PAGES, PAGE = HEADS // 2, 64, 256


def library(module: str) -> Any:
    """A module of the library."""
    return importlib.import_module(f"nanorlhf.kernels.{module}")


def attention(batch: int, length: int) -> object:
    """A prompt with a mask, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
    mask = torch.zeros(batch, 1, length, length, device=DEVICE, dtype=torch.bfloat16)
    return library("flash_attn.ops").FlashAttentionFunc.apply(*made, mask, True, HEAD**-0.5)


def packed(batch: int, length: int) -> object:
    """Sequences of several lengths, one after another, forward and backward."""
    sizes = lengths(batch, length)
    made = [normal(sum(sizes), HEADS, HEAD) for _ in range(3)]
    ends = starts(sizes)
    return library("flash_attn_varlen.ops").FlashAttnVarlenFunc.apply(
        *made, ends, ends, length, length, True, HEAD**-0.5
    )


def decode(batch: int, length: int) -> object:
    """One token of each sequence: against its pages, and against keys that were gathered."""
    slots = [plain(PAGES * PAGE, HELD, HEAD) for _ in range(2)]
    pages = torch.zeros(batch, -(-length // PAGE), device=DEVICE, dtype=torch.int32)
    held = counts(lengths(batch, length))
    ops = library("flash_attn_decode.ops")
    ops.flash_attn_decode_paged(plain(batch * HEADS, 1, HEAD), *slots, pages, held, HEADS, HELD)
    return ops.flash_attn_decode(plain(batch, HEADS, 1, HEAD), *(plain(batch, HEADS, length, HEAD) for _ in range(2)))


def store(batch: int, length: int) -> object:
    """The keys and values of all tokens into pages."""
    made = [plain(batch, length, HELD, HEAD) for _ in range(2)]
    pages = [plain(PAGES, PAGE, HELD, HEAD) for _ in range(2)]
    slots = torch.arange(batch * length, device=DEVICE, dtype=torch.int32)
    return library("kvcache.store").store_kv_to_cache(*made, *pages, slots)


def norm(batch: int, length: int) -> object:
    """A norm of all tokens."""
    return library("rmsnorm.ops").FusedRMSNormFunc.apply(normal(batch, length, HIDDEN), normal(HIDDEN), 1e-6)


OPERATORS = {"attention": attention, "packed": packed, "decode": decode, "store": store, "norm": norm}

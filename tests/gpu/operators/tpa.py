"""Tensor product attention: one token of each sequence, and a prompt."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, plain

REPOSITORY = "tensorgi/TPA"
COMMIT = "3d7f51deb97b8f51cd799c632fe2e417a3c2662c"
FOLDERS = ("decode",)
RANK, KEY_RANK = 16, 2
SHAPES = ((1, 16), (2, 33), (3, 64), (5, 100), (6, 127), (7, 200), (1, 300), (2, 512), (4, 777), (3, 1000))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def factors(batch: int, queries: int, length: int, rank: tuple[int, ...]) -> list[torch.Tensor]:
    """What queries, keys and values are products of."""
    heads = [(batch, queries, HEADS, RANK), (batch, length, HEADS, *rank), (batch, length, HEADS, *rank)]
    widths = [(batch, queries, RANK, HEAD), (batch, length, HEAD, *rank), (batch, length, HEAD, *rank)]
    return [plain(*size, dtype=torch.float16) for size in (*heads, *widths)]


def decode(module: str, *rank: int) -> Any:
    """One token of each sequence against `length` keys, by the three ways to split the work."""

    def run(batch: int, length: int) -> object:
        for way in ("b", "bh", "bn"):
            call(module, f"tpa_decode_parallel_{way}_triton", *factors(batch, 1, length, rank))

    return run


def prompt(module: str, **more: object) -> Any:
    """A prompt to itself, by the three ways to split the work."""

    def run(batch: int, length: int) -> object:
        for way in ("b_triton", "bh_triton", "bn_triton_v2"):
            call(module, f"tpa_decode_parallel_{way}", *factors(batch, length, length, (KEY_RANK,)), **more)

    return run


OPERATORS = {
    "decode": decode("flashtpa_decode_triton"),
    "decode-sigmoid": decode("flashtpa_decode_triton_sigmoid"),
    "decode-ranks": decode("flashtpa_decode_triton_multi_kvrank", KEY_RANK),
    "decode-ranks-sigmoid": decode("flashtpa_decode_triton_multi_kvrank_sigmoid", KEY_RANK),
    "prompt": prompt("tpa_flash_kernel_prefill"),
    "prompt-masked": prompt("tpa_flash_kernel_prefill_mask", is_causal=True),
}

"""aphrodite-engine's kernels for LoRA and its products with four bits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, counts, lengths, plain, starts

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "PygmalionAI/aphrodite-engine"
COMMIT = "1fac86c325e0dc4200fd9545315b379aeddb4fae"
OPS = "aphrodite.lora.ops"
BARE = tuple("aphrodite aphrodite.lora aphrodite.quantization aphrodite.triton_utils".split())
UNUSED = ("loguru",)
RANK, ADAPTERS, GROUP = 16, 4, 128


def of(module: str) -> object:
    """One module; the decorator of LoRA's kernels stands in a module of its own."""
    shared = importlib.import_module("aphrodite.triton_utils")
    shared.libentry = importlib.import_module("aphrodite.triton_utils.libentry").libentry
    return importlib.import_module(module)


def chosen(batch: int) -> torch.Tensor:
    """Each sequence's adapter."""
    return torch.tensor([i % ADAPTERS for i in range(batch)], device=DEVICE)


def one_token(name: str, *more: object, wide: bool) -> Callable[[int, int], object]:
    """LoRA of a token for each sequence."""

    def call(batch: int, length: int) -> object:
        rows = batch * length
        inputs, outputs = (RANK, HIDDEN) if wide else (HIDDEN, RANK)
        made = plain(rows, inputs, dtype=torch.float16), plain(ADAPTERS, outputs, inputs, dtype=torch.float16)
        function = getattr(of(f"{OPS}.{name}"), name)
        return function(*made, plain(rows, outputs, dtype=torch.float16), chosen(rows), *more)

    return call


def packed(name: str, *more: object, wide: bool) -> Callable[[int, int], object]:
    """LoRA of sequences one after the other."""

    def call(batch: int, length: int) -> object:
        each = lengths(batch, length)
        inputs, outputs = (RANK, HIDDEN) if wide else (HIDDEN, RANK)
        made = plain(sum(each), inputs, dtype=torch.float16), plain(ADAPTERS, outputs, inputs, dtype=torch.float16)
        where = starts(each)[:-1].long(), counts(each, torch.int64), chosen(batch), batch, max(each)
        function = getattr(of(f"{OPS}.{name}"), name)
        return function(*made, plain(sum(each), outputs, dtype=torch.float16), *where, *more)

    return call


def four_bits(*, split: int) -> Callable[[int, int], object]:
    """A product with weights of four bits."""

    def call(batch: int, length: int) -> object:
        weight = torch.ones(HIDDEN, HIDDEN // 8, device=DEVICE, dtype=torch.int32)
        scales = plain(HIDDEN // GROUP, HIDDEN, dtype=torch.float16)
        zeros = torch.ones(HIDDEN // GROUP, HIDDEN // 8, device=DEVICE, dtype=torch.int32)
        rows = plain(batch * length, HIDDEN, dtype=torch.float16)
        return of("aphrodite.quantization.awq_triton").awq_gemm_triton(rows, weight, scales, zeros, split)

    return call


OPERATORS = {
    "bgmv-shrink": one_token("bgmv_shrink", wide=False),
    "bgmv-expand": one_token("bgmv_expand", wide=True),
    "bgmv-expand-slice": one_token("bgmv_expand_slice", 0, HIDDEN, wide=True),
    "sgmv-shrink": packed("sgmv_shrink", 0.5, wide=False),
    "sgmv-expand": packed("sgmv_expand", wide=True),
    "sgmv-expand-slice": packed("sgmv_expand_slice", 0, HIDDEN, wide=True),
    "four-bits": four_bits(split=1),
    "four-bits-split": four_bits(split=8),
}

"""FlashNN's operators for serving: norms, quantization, products, attention and experts."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, PAGE, PAGES, counts, lengths, page_table, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("flashnn", "0.1.1")
EXPERTS, CHOSEN = 8, 2
CONFIG = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8}


def of(name: str) -> object:
    """One name of the package."""
    return getattr(importlib.import_module("flashnn"), name)


def half(*shape: int) -> torch.Tensor:
    """A random tensor in half precision."""
    return plain(*shape, dtype=torch.float16)


def norm(name: str) -> Callable[[int, int], object]:
    """One of the norms."""

    def call(batch: int, length: int) -> object:
        return of(name)(HIDDEN).to(DEVICE).half()(half(batch, length, HIDDEN))

    return call


def quantize(batch: int, length: int) -> object:
    """Rows to eight bits."""
    return of("DynamicQuantize")()(half(batch * length, HIDDEN))


def product_eight_bits(batch: int, length: int) -> object:
    """A product of two matrices in eight bits."""
    rows = torch.ones(batch * length, HIDDEN, device=DEVICE, dtype=torch.int8)
    weight = torch.ones(HIDDEN, HIDDEN, device=DEVICE, dtype=torch.int8)
    return of("GemmA8W8")()(rows, weight, half(batch * length, 1), half(1, HIDDEN))


def product_weight_only(*, bits: int, groups: int) -> Callable[[int, int], object]:
    """A product with weights of some bits, scaled by channel or by group."""

    def call(batch: int, length: int) -> object:
        weight = torch.ones(HIDDEN * bits // 8, HIDDEN, device=DEVICE, dtype=torch.int8)
        return of("GemmWeightOnly")()(half(batch * length, HIDDEN), weight, half(groups, HIDDEN))

    return call


def attention(*, causal: bool, groups: int = 1) -> Callable[[int, int], object]:
    """Attention over a whole prompt."""

    def call(batch: int, length: int) -> object:
        q = half(batch, length, HEADS, HEAD)
        k, v = (half(batch, length, HEADS // groups, HEAD) for _ in range(2))
        return of("FlashAttention")()(q, k, v, causal)

    return call


def paged(version: int) -> Callable[[int, int], object]:
    """A token of each sequence against keys in pages."""

    def call(batch: int, length: int) -> object:
        pages = [half(PAGES, HEADS, PAGE, HEAD) for _ in range(2)]
        more = torch.arange(HEADS, device=DEVICE), HEAD**-0.5, page_table(batch, length), counts(lengths(batch, length))
        return of("PagedAttention")(version)(half(batch, HEADS, HEAD), *pages, *more, length)

    return call


def paged_by_splits(*, heads: int, splits: int) -> Callable[[int, int], object]:
    """The same with some splits; `heads` are of keys and values."""

    def call(batch: int, length: int) -> object:
        query, pages = half(batch, HEADS, HEAD), [half(PAGES, heads, PAGE, HEAD) for _ in range(2)]
        where = counts(lengths(batch, length)), page_table(batch, length)
        return of("paged_attention")(torch.empty_like(query), query, *pages, *where, HEAD**-0.5, length, splits)

    return call


def rotate(batch: int, length: int) -> object:
    """The embedding of positions."""
    made = half(length, batch, HEADS, HEAD), half(length, batch, HEADS, HEAD)
    return of("RotaryEmbedding")(HEAD, 1000, torch.half).to(DEVICE)(*made, 0)


def penalize(kind: str) -> Callable[[int, int], object]:
    """Scores less for what was said before."""

    def call(batch: int, length: int) -> object:
        said = [torch.arange(size, device=DEVICE) for size in lengths(batch, length)]
        where = torch.tensor([ids.data_ptr() for ids in said], device=DEVICE)
        made = half(batch, 1000), torch.ones(batch, device=DEVICE), where, counts(lengths(batch, length))
        return of("LogitsProcessor")(kind)(*made, length, said)

    return call


def experts(batch: int, length: int) -> object:
    """Tokens by their experts."""
    tokens = batch * length
    blocks = -(-tokens * CHOSEN // CONFIG["BLOCK_SIZE_M"]) + EXPERTS
    chosen = torch.zeros(tokens, CHOSEN, device=DEVICE, dtype=torch.int32)
    order = torch.arange(blocks * CONFIG["BLOCK_SIZE_M"], device=DEVICE, dtype=torch.int32)
    made = half(tokens, HIDDEN), half(EXPERTS, HIDDEN, HIDDEN), half(tokens, CHOSEN, HIDDEN)
    where = order, torch.zeros(blocks, device=DEVICE, dtype=torch.int32), counts([len(order)])
    of("fused_moe_fp16_forward")(*made, half(tokens, CHOSEN), chosen, *where, True, CHOSEN, CONFIG)


OPERATORS = {
    "rms-norm": norm("RMSNorm"),
    "rms-norm-quantize": norm("RMSNormDquant"),
    "layer-norm": norm("LayerNorm"),
    "layer-norm-quantize": norm("LayernormDquant"),
    "quantize": quantize,
    "product-eight-bits": product_eight_bits,
    "product-weight-eight": product_weight_only(bits=8, groups=1),
    "product-weight-eight-groups": product_weight_only(bits=8, groups=4),
    "product-weight-four": product_weight_only(bits=4, groups=1),
    "product-weight-four-groups": product_weight_only(bits=4, groups=4),
    "attention": attention(causal=False),
    "attention-causal": attention(causal=True),
    "paged-one": paged(1),
    "paged-two": paged(2),
    "paged-splits": paged_by_splits(heads=HEADS, splits=0),
    "paged-splits-grouped": paged_by_splits(heads=1, splits=0),
    "paged-four-splits": paged_by_splits(heads=1, splits=4),
    "rotate": rotate,
    "penalize-repetition": penalize("REPETITION"),
    "penalize-presence": penalize("PRESENCE"),
    "experts": experts,
}

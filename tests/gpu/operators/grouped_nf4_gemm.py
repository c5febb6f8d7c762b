"""grouped-nf4-gemm's products of experts with quantized weights, and the row-wise layers beside them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("grouped-nf4-gemm", "0.51.0")
EXPERTS, WIDE, CHOSEN, GROUP = 4, 256, 2, 32
FEW = ((1, 1), (1, 2), (1, 3), (1, 5), (1, 7), (2, 4), (3, 3), (2, 6), (3, 5), (4, 4))
SHAPES_OF = {"dense-int8": FEW, "few-rows-int4": FEW, "experts-of-few-int4": FEW, "experts-of-few-mxfp4": FEW}


def call(module: str, name: str, *arguments: Any, **more: Any) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def bytes_of(*shape: int) -> torch.Tensor:
    """Two codes in each byte."""
    return torch.randint(0, 255, shape, device=DEVICE, dtype=torch.uint8)


def scales(*shape: int) -> torch.Tensor:
    """A scale for each group of codes."""
    return plain(*shape, dtype=torch.float16)


def by_row(
    name: str, *shapes: tuple[int, ...], alike: int = 1, more: tuple[float, ...] = ()
) -> Callable[[int, int], object]:
    """A layer of each row; `alike` how many tensors have a row for each token."""

    def run(batch: int, length: int) -> object:
        made = [plain(batch * length, HIDDEN) for _ in range(alike)]
        return call("int4_b32", name, *made, *(plain(*shape) for shape in shapes), *more)

    return run


def rotate(batch: int, length: int) -> object:
    """Norm and rotation of each head."""
    tokens = batch * length
    angles = [plain(tokens, HEAD) for _ in range(2)]
    return call("int4_b32", "rope_norm_heads", plain(tokens, HEADS, HEAD), plain(HEAD), *angles, 1e-6)


def combine(batch: int, length: int) -> object:
    """The weighted sum of each token's experts."""
    rows = batch * length * CHOSEN
    return call("int4_b32", "combine_rows", plain(rows, HIDDEN), plain(rows, dtype=torch.float32), CHOSEN)


def experts_of_few(batch: int, length: int) -> object:
    """Each row against its expert's weight of four bits."""
    rows = batch * length
    quantized = call("int4_b32", "quant_x_rows", plain(rows, HIDDEN))
    weight = bytes_of(EXPERTS, WIDE, HIDDEN // 2), scales(EXPERTS, WIDE, HIDDEN // GROUP)
    experts = torch.arange(rows, device=DEVICE, dtype=torch.int32) % EXPERTS
    return call("int4_b32", "gemv_int4_b32", *quantized, *weight, experts, WIDE, HIDDEN)


def experts_of_few_mxfp4(batch: int, length: int) -> object:
    """Each row against its expert's weight with shared exponents."""
    rows = batch * length
    quantized = call("int4_b32", "quant_x_rows", plain(rows, HIDDEN))
    weight = bytes_of(EXPERTS, WIDE, HIDDEN // 2), bytes_of(EXPERTS, WIDE, HIDDEN // GROUP)
    experts = torch.arange(rows, device=DEVICE, dtype=torch.int32) % EXPERTS
    return call("mxfp4_grouped", "gemv_mxfp4_b32", *quantized, *weight, experts, WIDE, HIDDEN)


def sizes(tokens: int) -> list[int]:
    """The tokens of each expert, none without."""
    return [tokens // EXPERTS + 1] * EXPERTS


def experts_mxfp4(batch: int, length: int) -> object:
    """The tokens of all experts one after another, weights with shared exponents."""
    rows = sizes(batch * length)
    weight = bytes_of(EXPERTS, WIDE, HIDDEN // 2), bytes_of(EXPERTS, WIDE, HIDDEN // GROUP)
    return call("mxfp4_grouped", "gemm_mxfp4_grouped", plain(sum(rows), HIDDEN), *weight, rows, list(range(EXPERTS)))


def few_rows(batch: int, length: int) -> object:
    """A few rows against a weight of four bits."""
    made = plain(batch * length, HIDDEN), bytes_of(WIDE, HIDDEN // 2), scales(WIDE, HIDDEN // GROUP)
    return call("int4_smallm", "gemm_int4_b32_smallm", *made)


def dense_int8(batch: int, length: int) -> object:
    """A few rows against a weight of eight bits."""
    weight = torch.randint(-8, 8, (WIDE, HIDDEN), device=DEVICE, dtype=torch.int8), plain(WIDE, dtype=torch.float32)
    return call("dense_i8", "linear_i8", plain(batch * length, HIDDEN), *weight)


OPERATORS = {
    "quantize": by_row("quant_x_rows"),
    "norm": by_row("rmsnorm_rows", (HIDDEN,), more=(1e-6,)),
    "norm-residual": by_row("rmsnorm_resid_rows", (HIDDEN,), alike=2, more=(1e-6,)),
    "gated": by_row("swiglu_rows"),
    "rotate": rotate,
    "combine": combine,
    "experts-of-few-int4": experts_of_few,
    "experts-of-few-mxfp4": experts_of_few_mxfp4,
    "experts-mxfp4": experts_mxfp4,
    "few-rows-int4": few_rows,
    "dense-int8": dense_int8,
}

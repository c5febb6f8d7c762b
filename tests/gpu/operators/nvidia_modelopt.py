"""Model Optimizer's attention over sequences one after another and over pages, and its quantization."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import (
    HEAD,
    HEADS,
    HIDDEN,
    PAGE,
    cache,
    counts,
    lengths,
    normal,
    page_table,
    plain,
    starts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("nvidia-modelopt", "0.47.0")
BARE = (
    "modelopt",
    "modelopt.torch",
    "modelopt.torch.kernels",
    "modelopt.torch.kernels.common",
    "modelopt.torch.kernels.common.attention",
    "modelopt.torch.kernels.quantization",
    "modelopt.torch.kernels.quantization.attention",
    "modelopt.torch.kernels.quantization.gemm",
    "modelopt.torch.kernels.sparsity",
    "modelopt.torch.kernels.sparsity.attention",
)

UNUSED = ("requests",)


def call(module: str, name: str, *arguments: Any, **more: Any) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"modelopt.torch.kernels.{module}"), name)(*arguments, **more)


def attention(**more: Any) -> Callable[[int, int], object]:
    """Attention of sequences of different lengths."""

    def run(batch: int, length: int) -> object:
        sizes = lengths(batch, length)
        made = [normal(sum(sizes), heads, HEAD, dtype=torch.float16) for heads in (HEADS, 2, 2)]
        where = starts(sizes)[:-1], counts(sizes), length
        return call("common.attention.triton_fa", "attention", *made, *where, **more)

    return run


def measure(batch: int, length: int) -> object:
    """Attention that counts what could be skipped."""
    sizes = [length] * batch
    made = [plain(sum(sizes), heads, HEAD, dtype=torch.float16) for heads in (HEADS, 2, 2)]
    where = starts(sizes)[:-1], counts(sizes), length
    more = {"threshold_trials": [0.01, 0.1, 0.5]}
    return call("sparsity.attention.calibrate", "attention_calibrate", *made, *where, **more)


def decode(batch: int, length: int) -> object:
    """One token of each sequence, over pages."""
    made = plain(batch, HEADS, HEAD, dtype=torch.float16), cache(), cache()
    where = page_table(batch, length), counts(lengths(batch, length))
    return call("common.attention.decode_attention", "attention_decode", *made, *where, page_size=PAGE)


def four_bits(batch: int, length: int) -> object:
    """Blocks of 16 in four bits."""
    made = plain(batch * length, HIDDEN), plain(dtype=torch.float32)
    return call("quantization.gemm.fp4_kernel_hopper", "fp4_fake_quant_block", *made)


def four_bits_static(batch: int, length: int) -> object:
    """Blocks of 16 in four bits, with scales that are known."""
    blocks = batch * length * HIDDEN // 16
    made = plain(blocks, 16), plain(blocks, dtype=torch.float32)
    return call("quantization.gemm.fp4_kernel", "static_blockwise_fp4_fake_quant", *made)


def dequantize(batch: int, length: int) -> object:
    """A scale for each block of 128 by 128."""
    rows = batch * length
    made = plain(rows, HIDDEN), plain(-(-rows // 128), HIDDEN // 128, dtype=torch.float32)
    return call("quantization.gemm.fp8_kernel", "weight_dequant", *made)


OPERATORS = {
    "attention": attention(),
    "attention-skipping": attention(skip_softmax_threshold=0.1),
    "measure": measure,
    "decode": decode,
    "four-bits": four_bits,
    "four-bits-static": four_bits_static,
    "dequantize": dequantize,
}

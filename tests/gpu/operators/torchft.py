"""torchft's eight-bit sums over replicas."""

from __future__ import annotations

import importlib

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HIDDEN, plain

PACKAGE = Package("torchft", "0.2.0")
BARE = ("torchft",)
REPLICAS = 2


def reduce(batch: int, length: int) -> None:
    """Pack, add up and unpack two tensors, one with a row for each token."""
    module = importlib.import_module("torchft.quantization")
    tensors = [plain(batch * length, HIDDEN), plain(HIDDEN, HIDDEN)]
    packed = module.fused_quantize_into_fp8(tensors, REPLICAS)
    module.fused_reduce_fp8(tensors, packed, REPLICAS, 0)
    module.fused_dequantize_from_fp8(tensors, packed, REPLICAS)


OPERATORS = {"reduce": reduce}

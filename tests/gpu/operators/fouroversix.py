"""fouroversix' quantization to four bits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HIDDEN, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("fouroversix", "0.1.0")
BARE = ("fouroversix", "fouroversix.quantize")


def quantize(*, transpose: bool = False, **more: object) -> Callable[[int, int], object]:
    """All tokens, or the transpose of their matrix, as a gradient needs it."""

    def run(batch: int, length: int) -> object:
        module = importlib.import_module("fouroversix.quantize.triton_kernel")
        return module.quantize_to_fp4(plain(batch * length, HIDDEN), transpose=transpose, **more)

    return run


OPERATORS = {
    "tokens": quantize(),
    "tokens-mxfp4": quantize(fp4_format="mxfp4"),
    "transposed": quantize(transpose=True),
    "weight-blocks": quantize(block_scale_2d=True),
}

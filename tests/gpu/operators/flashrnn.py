"""FlashRNN's recurrent layers, in one kernel for all steps."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEADS, normal

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("flashrnn", "1.0.8")
FOLDERS = (".", "flashrnn")
BARE = ("flashrnn", "flashrnn.flashrnn")
GATES, HEAD = 4, 32


def recurrent(function: str) -> Callable[[int, int], object]:
    """All steps of a layer."""

    def call(batch: int, length: int) -> object:
        inputs = normal(batch, length, GATES, HEADS, HEAD)
        weights = normal(GATES, HEADS, HEAD, HEAD), normal(GATES, HEADS, HEAD)
        layer = importlib.import_module("flashrnn.flashrnn.flashrnn").flashrnn
        return layer(inputs, *weights, function=function, backend="triton_fused", dtype="bfloat16")[0]

    return call


OPERATORS = {"lstm": recurrent("lstm"), "slstm": recurrent("slstm")}

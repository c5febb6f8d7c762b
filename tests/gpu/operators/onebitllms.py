"""onebitllms' quantization of activations and of weights."""

from __future__ import annotations

import importlib

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HIDDEN, plain

PACKAGE = Package("onebitllms", "0.0.4")
BARE = ("onebitllms", "onebitllms.kernels")


def activations(batch: int, length: int) -> object:
    """Each token by its largest."""
    module = importlib.import_module("onebitllms.kernels.activation_quant")
    return module.activation_quant_triton(plain(batch, length, HIDDEN))


def weight(batch: int, length: int) -> object:
    """One weight, whatever the batch."""
    return importlib.import_module("onebitllms.kernels.weight_quant").weight_quant_triton(plain(HIDDEN, HIDDEN))


OPERATORS = {"activations": activations, "weight": weight}

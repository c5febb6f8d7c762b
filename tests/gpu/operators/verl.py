"""verl's fused loss and its blockwise quantization."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, VOCABULARY, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "volcengine/verl"
COMMIT = "b178a3cd56f58b2d502255daba591e92833930a7"
BARE = ("verl", "verl.utils")


def loss(*, reduction: str, backward: str, temperature: float = 1.0) -> Callable[[int, int], object]:
    """Log-probabilities and entropy from hidden states, without the logits."""

    def call(batch: int, length: int) -> object:
        kernels = importlib.import_module("verl.utils.kernel.kernels")
        kernels.set_backward_method(getattr(kernels.BackwardEnum, backward))
        labels = torch.randint(0, VOCABULARY, (batch, length), device=DEVICE)
        made = normal(batch, length, HIDDEN), normal(VOCABULARY, HIDDEN), labels
        function = importlib.import_module("verl.utils.kernel.linear_cross_entropy").linear_cross_entropy
        log_probabilities, _ = function(*made, temperature, reduction)
        return log_probabilities * torch.ones_like(log_probabilities)  # its gradient must be contiguous

    return call


def quantize(batch: int, length: int) -> object:
    """Weights to eight bits, block by block."""
    function = importlib.import_module("verl.utils.kernel.fp8_kernel").scaled_fp8_blockwise_triton
    return function(plain(batch * 128, length), [128, 128])


OPERATORS = {
    "loss": loss(reduction="none", backward="_Total_Fuse_MN"),
    "loss-mean": loss(reduction="mean", backward="_Total_Separate", temperature=0.7),
    "loss-split": loss(reduction="none", backward="_Split_Dlogits_N"),
    "quantize": quantize,
}

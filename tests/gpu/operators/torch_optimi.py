"""torch-optimi's optimizers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HIDDEN, VOCABULARY, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("torch-optimi", "0.3.3")


def step(name: str) -> Callable[[int, int], None]:
    """One step of a model's parameters, whose sizes no batch changes."""

    def run(batch: int, length: int) -> None:
        parameters = [plain(*shape).requires_grad_() for shape in ((HIDDEN,), (HIDDEN, HIDDEN), (VOCABULARY, HIDDEN))]
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter)
        getattr(importlib.import_module("optimi"), name)(parameters, lr=1e-4, triton=True).step()

    return run


OPERATORS = {
    name.lower(): step(name) for name in ("Adam", "AdamW", "Adan", "Lion", "RAdam", "Ranger", "SGD", "StableAdamW")
}

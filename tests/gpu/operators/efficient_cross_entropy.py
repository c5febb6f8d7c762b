"""A projection and its loss in one."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, VOCABULARY, normal

REPOSITORY = "mgmalek/efficient_cross_entropy"
COMMIT = "049d44460051a82f58f7ff49a2ad0653ecf026d8"


def loss(pieces: int) -> Any:
    """The loss of all tokens, taken in so many pieces."""

    def run(batch: int, length: int) -> object:
        made = importlib.import_module("modules").FusedProjectionPlusCrossEntropyLoss(HIDDEN, VOCABULARY, pieces)
        target = torch.zeros(batch * length * pieces, device=DEVICE, dtype=torch.int64)
        return made.to(DEVICE, torch.bfloat16)(normal(batch * length * pieces, HIDDEN), target)

    return run


OPERATORS = {"whole": loss(1), "pieces": loss(4)}

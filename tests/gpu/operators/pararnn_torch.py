"""pararnn-torch's recurrent layers, solved in parallel over time."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, normal

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("pararnn-torch", "0.17.4")


def layer(name: str, **options: object) -> Callable[[int, int], object]:
    """A layer of one kind of cell."""

    def call(batch: int, length: int) -> object:
        package = importlib.import_module("pararnn")
        cell = getattr(package, name)(HEAD, HEAD, **options).to(DEVICE)
        return package.newton_apply(cell, normal(batch, length, HEAD, dtype=torch.float32))

    return call


OPERATORS = {
    "gru": layer("ParaGRU"),
    "lstm": layer("ParaLSTM"),
    "slstm": layer("ParaSLSTM"),
    "nlru": layer("ParaNLRU"),
    "cfc": layer("ParaCfC"),
}

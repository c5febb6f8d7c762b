"""lion-pytorch's step of an optimizer."""

from __future__ import annotations

import importlib

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HIDDEN, VOCABULARY, plain

PACKAGE = Package("lion-pytorch", "0.2.5")
BARE = ("lion_pytorch",)


def step(batch: int, length: int) -> None:
    """One step of a model's parameters, whose sizes no batch changes."""
    module = importlib.import_module("lion_pytorch.triton")
    for shape in ((HIDDEN,), (HIDDEN, HIDDEN), (VOCABULARY, HIDDEN)):
        module.update_fn(plain(*shape), plain(*shape), plain(*shape), 1e-4, 0.1, 0.9, 0.99)


OPERATORS = {"step": step}

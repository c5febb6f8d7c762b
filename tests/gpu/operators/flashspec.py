"""flashspec's verification of drafted tokens: as many for each sequence as were drafted."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, VOCABULARY

PACKAGE = Package("flashspec", "0.3.1")
BARE = ("flashspec",)
DRAFTED = 5


def verify(batch: int, length: int) -> object:
    """Accept or reject each drafted token."""
    chances = [torch.randn(batch * length, DRAFTED, VOCABULARY, device=DEVICE).log_softmax(-1) for _ in range(2)]
    drafted = torch.randint(0, VOCABULARY, (batch * length, DRAFTED), device=DEVICE)
    function = importlib.import_module("flashspec.kernels.verify_kernel").verify_tokens
    return function(*chances, torch.rand(batch * length, DRAFTED, device=DEVICE), drafted)


def gather(batch: int, length: int) -> object:
    """The tokens before the first that is rejected."""
    drafted = torch.randint(0, VOCABULARY, (batch * length, DRAFTED), device=DEVICE)
    rejected = torch.full((batch * length,), 2, device=DEVICE)
    return importlib.import_module("flashspec.kernels.gather_kernel").gather_accepted(drafted, rejected)


OPERATORS = {"verify": verify, "gather": gather}

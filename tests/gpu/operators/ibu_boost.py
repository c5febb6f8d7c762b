"""ibu-boost's histograms and splits of trees: the samples vary."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, plain

PACKAGE = Package("ibu-boost", "0.1.1")
BARE = ("ibu_boost", "ibu_boost.kernels")
FEATURES, BINS, NODES = 16, 64, 8


def samples(count: int) -> tuple[torch.Tensor, ...]:
    """Binned features, gradients, and the node of each sample."""
    bins = torch.randint(0, BINS, (count, FEATURES), device=DEVICE, dtype=torch.uint8)
    sums = [plain(count, dtype=torch.float32) for _ in range(2)]
    return bins, *sums, torch.arange(count, device=DEVICE, dtype=torch.int32) % NODES


def histogram(batch: int, length: int) -> object:
    """The sums of each bin."""
    module = importlib.import_module("ibu_boost.kernels.screening_split_triton")
    return module.build_histogram_triton(*samples(batch * length), NODES, BINS)


def missing(batch: int, length: int) -> object:
    """The sums of samples without a value."""
    module = importlib.import_module("ibu_boost.kernels.screening_split_triton")
    return module.build_missing_stats_triton(*samples(batch * length), NODES)


OPERATORS = {"histogram": histogram, "missing": missing}

"""flash-semicrf's sums over all segmentations of a sequence."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import ANY, counts, lengths, normal

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("flash-semicrf", "0.2.0")
SHAPES = ANY[1:]
LABELS, LONGEST = 8, 6


def greatest(batch: int, length: int) -> object:
    """The best segmentation alone."""
    with torch.no_grad():
        return segmentations("max")(batch, length)


def segmentations(semiring: str, *, boundaries: bool = False) -> Callable[[int, int], object]:
    """The sum, or the greatest, with scores of where segments begin and end."""

    def call(batch: int, length: int) -> object:
        scores = normal(batch, length + 1, LABELS, dtype=torch.float64)
        weights = [normal(LABELS, LABELS, dtype=torch.float64), normal(LONGEST, LABELS, dtype=torch.float64)]
        sizes = counts(lengths(batch, length), torch.int64)
        more = {}
        if boundaries:
            more = {name: normal(batch, length, LABELS, dtype=torch.float64) for name in ("proj_start", "proj_end")}
        function = importlib.import_module("flash_semicrf.streaming.autograd").semi_crf_streaming_forward
        return function(scores, *weights, sizes, LONGEST, semiring=semiring, **more)

    return call


OPERATORS = {
    "sum": segmentations("log"),
    "sum-boundaries": segmentations("log", boundaries=True),
    "greatest": greatest,
}

"""mingru-scans' parallel scans."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEADS, HIDDEN, normal

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("mingru-scans", "0.2.0")
SINGLE, WIDE, STATES, CHUNK = torch.float32, 16, 32, 16


def scan(name: str, *shapes: tuple[int, ...], later: int = 0) -> Callable[[int, int], object]:
    """A scan of coefficients and values; the values are `later` steps longer."""

    def call(batch: int, length: int) -> object:
        coefficients, values = shapes
        made = normal(batch, length, *coefficients, dtype=SINGLE), normal(batch, length + later, *values, dtype=SINGLE)
        return importlib.import_module("mingru.triton_scans").SCAN_IMPLS[name](*made)

    return call


def delta(batch: int, length: int) -> object:
    """The delta rule in chunks."""
    q = normal(batch, HEADS, length, WIDE, dtype=SINGLE)
    k, v = (normal(batch, HEADS, length, 1, WIDE, dtype=SINGLE) for _ in range(2))
    beta, first = normal(batch, HEADS, length, 1, dtype=SINGLE), normal(batch, HEADS, WIDE, WIDE, dtype=SINGLE)
    return importlib.import_module("mingru.triton_scans").delta_scan_impl(q, k, v, beta, first, chunk_size=CHUNK)


OPERATORS = {
    "linear": scan("linear_scan", (HIDDEN,), (HIDDEN,)),
    "log": scan("parallel_scan_log", (HIDDEN,), (HIDDEN,), later=1),
    "matrix": scan("matrix_scan", (STATES, 2, 2), (STATES, 2)),
    "affine": scan("matrix_affine_scan", (STATES, 4, 4), (STATES, 4, 4)),
    "delta": delta,
}

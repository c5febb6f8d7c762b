"""nexusquant-kv's keys and values on a lattice of eight dimensions."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, plain

PACKAGE = Package("nexusquant-kv", "0.6.3")
BARE = ("nexusquant", "nexusquant.kernels")


def call(name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("nexusquant.kernels.e8_triton"), name)(*arguments)


def keys(batch: int, length: int) -> torch.Tensor:
    """Keys of all heads."""
    return plain(batch, HEADS, length, HEAD, dtype=torch.float32)


def nearest(batch: int, length: int) -> object:
    """The nearest points."""
    return call("e8_nearest_point", plain(batch, length, 8, dtype=torch.float32))


def round_trip(batch: int, length: int) -> object:
    """Quantized and back."""
    return call("e8_quantize_perhead", keys(batch, length))


def codes(batch: int, length: int) -> object:
    """Codes and scales, and back."""
    return call("e8_decode", *call("e8_encode", keys(batch, length)))


def scores(batch: int, length: int) -> object:
    """One sequence's compressed keys against the query of each head."""
    return call("e8_dequant_matmul", *call("e8_encode", keys(1, length)[0, 0]), plain(HEAD, HEADS, dtype=torch.float32))


OPERATORS = {"nearest": nearest, "round-trip": round_trip, "codes": codes, "scores": scores}

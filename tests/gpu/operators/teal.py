"""TEAL's products of one token with the weights that a threshold leaves."""

from __future__ import annotations

import importlib
from typing import Any

from tests.gpu.operators.tensors import HEAD, HEADS, HIDDEN, plain

REPOSITORY = "FasterDecoding/TEAL"
COMMIT = "5baaec8645ce76368bd49eb05efb23f1da7edec6"
FOLDERS = ("kernels",)
KEYS = HEADS // 2 * HEAD


def call(name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("sparse_gemv"), name)(*arguments)


def layer(batch: int, length: int) -> object:
    """One token through a layer; the threshold follows `length`."""
    weight = plain(HIDDEN, 4 * HIDDEN).T.contiguous().T
    return call("splitk_sparse_gemv", plain(1, 1, 4 * HIDDEN), weight, length / 1000, 1)


def projections(batch: int, length: int) -> object:
    """One token to its query, key and value."""
    weight = plain(HEADS * HEAD + 2 * KEYS, HIDDEN).T.contiguous().T
    thresholds = [length / (1000 + i) for i in range(3)]
    return call("qkv_gemv", plain(1, 1, HIDDEN), weight, *thresholds, 1, KEYS)


OPERATORS = {"layer": layer, "projections": projections}

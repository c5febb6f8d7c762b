"""EigenTune's products inside the singular subspace of a weight."""

from __future__ import annotations

import importlib

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HIDDEN, plain

PACKAGE = Package("eigentune", "0.2.0")
RANK, WIDE = 32, 256


def call(name: str, *arguments: object, **more: object) -> object:
    """Call a function of the library."""
    return getattr(importlib.import_module("eigentune.kernels.triton_backend"), name)(*arguments, **more)


def down(batch: int, length: int) -> object:
    """Into the subspace."""
    return call("down", plain(batch * length, HIDDEN), plain(RANK, HIDDEN), 1)


def down_transposed(batch: int, length: int) -> object:
    """Into the subspace, by a matrix with the other order of axes."""
    return call("down", plain(batch * length, HIDDEN), plain(HIDDEN, RANK), 0)


def up(batch: int, length: int) -> object:
    """Out of the subspace, on top of what the weight gave."""
    made = plain(batch * length, RANK), plain(RANK), plain(WIDE, RANK)
    return call("up", *made, 0, "diag", base=plain(batch * length, WIDE))


OPERATORS = {"down": down, "down-transposed": down_transposed, "up": up}

"""trifast's attention over pairs of residues."""

from __future__ import annotations

import importlib
import sys
import tempfile
from types import SimpleNamespace

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, normal

PACKAGE = Package("trifast", "0.1.13")
BARE = ("trifast",)
UNUSED = ("jaxtyping",)
HEADS, HEAD = 4, 32
# Pairs: a thousand residues would take gigabytes.
SHAPES = ((1, 16), (2, 17), (1, 33), (1, 50), (2, 64), (1, 77), (1, 100), (1, 127), (2, 150), (1, 200))


def triangle(batch: int, length: int) -> object:
    """Attention of `length` residues; the configs that it keeps on disk are for this process alone."""
    sys.modules.setdefault("platformdirs", SimpleNamespace(user_config_dir=lambda **_: tempfile.mkdtemp()))  # type: ignore[arg-type]
    pairs = [normal(batch, HEADS, length, length, HEAD) for _ in range(3)]
    mask = torch.zeros(batch, length, length, device=DEVICE, dtype=torch.bool)
    bias = normal(batch, HEADS, length, length)
    return importlib.import_module("trifast.torch").triangle_attention(*pairs, bias, mask)


OPERATORS = {"triangle": triangle}

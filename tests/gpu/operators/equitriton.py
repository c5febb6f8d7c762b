"""EquiTriton's spherical harmonics of directions between atoms."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import ANY, normal, plain

REPOSITORY = "IntelLabs/EquiTriton"
COMMIT = "85f38e6de5b480fcece17b5b5530421335ee57f9"
FOLDERS = ("src",)
UNUSED = ("e3nn",)
PROJECTED = 8
# Padded tensors of one edge have no gradient.
SHAPES_OF = {"padded": ANY[1:]}


def call(module: str, name: str) -> Any:
    """A function or class of the library."""
    return getattr(importlib.import_module(f"equitriton.sph_harm.{module}"), name)


def directions(batch: int, length: int) -> torch.Tensor:
    """`length` edges of each of `batch` graphs."""
    return normal(batch * length, 3, dtype=torch.float32)


def projected(harmonics: torch.Tensor) -> object:
    """What a layer makes of `harmonics`."""
    return harmonics @ plain(harmonics.shape[-1], PROJECTED, dtype=torch.float32)


def low(batch: int, length: int) -> object:
    """The orders up to the third in one tensor, forward and backward."""
    return projected(call("direct", "TritonSphericalHarmonic").apply([0, 1, 2, 3], directions(batch, length)))


def high(batch: int, length: int) -> object:
    """The orders from the fourth to the sixth, forward and backward."""
    return projected(call("direct", "TritonSphericalHarmonic").apply([4, 5, 6], directions(batch, length)))


def apart(batch: int, length: int) -> object:
    """One order by itself, forward and backward."""
    return projected(call("direct.y_2", "SecondOrderSphericalHarmonic").apply(directions(batch, length)))


def fused(batch: int, length: int) -> object:
    """The orders up to the second at once, forward and backward."""
    return projected(call("direct", "FusedSecondOrderSphericalHarmonic").apply(directions(batch, length)))


def padded(batch: int, length: int) -> object:
    """The orders up to the third of padded edges, forward and backward."""
    return projected(call("main", "SphericalHarmonics")(3)(directions(batch, length)))


OPERATORS = {"low": low, "high": high, "apart": apart, "fused": fused, "padded": padded}

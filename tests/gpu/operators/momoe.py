"""MoMoE's experts, recomputed or kept for the backward pass, with its router."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal

REPOSITORY = "tilde-research/MoMoE-impl"
COMMIT = "d6e2d683185bfe4030265c3ca062564356faa61e"
WIDE, EXPERTS, CHOSEN, SHARED = 256, 8, 3, 1
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (2, 777))


def mixed(batch: int, length: int, saved: int) -> object:
    """A layer of experts, forward and backward, with `saved` percent kept for the latter."""
    made = importlib.import_module("momoe.sample_moe").MoE(HIDDEN, WIDE, EXPERTS, CHOSEN, SHARED, save_percent=saved)
    return made.to(DEVICE)(normal(batch, length, HIDDEN))


def recomputed(batch: int, length: int) -> object:
    """Nothing is kept."""
    return mixed(batch, length, 0)


def kept(batch: int, length: int) -> object:
    """Half is kept."""
    return mixed(batch, length, 50)


OPERATORS = {"recomputed": recomputed, "kept": kept}

"""Ligo's AlphaFold 3: the average of an alignment by pairs of residues."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import normal, plain

REPOSITORY = "Ligo-Biosciences/AlphaFold3"
COMMIT = "621531e4f36c3ce5e20157f88f27049d3f3f1fcc"
FOLDERS = ("src/models/components",)
HEADS, HIDDEN, SEQUENCES = 8, 32, 16
SHAPES = ((1, 16), (2, 33), (3, 64), (1, 100), (2, 127), (4, 200), (1, 300), (2, 384))


def average(batch: int, length: int) -> object:
    """`batch` proteins of `length` residues, each with more sequences where there are more, forward and backward."""
    sequences = SEQUENCES * batch
    values, gates = (normal(batch, sequences, length, HEADS, HIDDEN, dtype=torch.float32) for _ in range(2))
    pairs = normal(batch, length, length, HEADS, dtype=torch.float32)
    averaged = importlib.import_module("msa_kernel").MSAWeightedAveragingFused(values, pairs, gates)
    return averaged @ plain(HEADS * HIDDEN, HEADS * HIDDEN, dtype=torch.float32)


OPERATORS = {"average": average}

"""The example of a Triton kernel in KernelBench's prompts."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import HIDDEN, plain

REPOSITORY = "ScalingIntelligence/KernelBench"
COMMIT = "423217d9fda91e0c2d67e4a43bf62f96f6d104f1"
FOLDERS = ("src/kernelbench/prompts",)


def add(batch: int, length: int) -> object:
    """A sum."""
    made = plain(batch, length, HIDDEN), plain(batch, length, HIDDEN)
    return importlib.import_module("model_new_ex_add_triton").ModelNew()(*made)


OPERATORS = {"add": add}

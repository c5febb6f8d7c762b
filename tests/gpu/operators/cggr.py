"""CGGR's choice of hard tokens and its layers of experts."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, VOCABULARY, plain

REPOSITORY = "MinimaML/CGGR"
COMMIT = "1762989de5c46685e87fd850395ece7c567b2f75"
EXPERTS, WIDE = 4, 1024
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))


def score(batch: int, length: int) -> object:
    """How hard each token is."""
    made = plain(batch, length, VOCABULARY), torch.randint(VOCABULARY, (batch, length), device=DEVICE)
    return importlib.import_module("triton_kernels").fused_difficulty_score(*made)


def choose(batch: int, length: int) -> object:
    """The hardest tokens."""
    return importlib.import_module("triton_kernels").select_tokens_topk(plain(batch, length), 0.25)


def cover(batch: int, length: int) -> object:
    """Some tokens of each sequence."""
    made = plain(batch, length), torch.zeros(batch, length, device=DEVICE), batch, length
    return importlib.import_module("triton_kernels").ensure_sequence_coverage(*made, 4)


def multiply(batch: int, length: int) -> object:
    """Each expert's tokens times its weights."""
    many = [batch * length // (1 + expert) for expert in range(EXPERTS)]
    made = [plain(rows, HIDDEN) for rows in many], [plain(HIDDEN, WIDE) for _ in many]
    return importlib.import_module("persistent_cggr_kernels").persistent_grouped_gemm(*made)[0]


OPERATORS = {"score": score, "choose": choose, "cover": cover, "multiply": multiply}

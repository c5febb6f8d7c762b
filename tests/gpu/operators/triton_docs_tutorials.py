"""The kernels of triton_docs_tutorials, a course."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, normal, plain

if TYPE_CHECKING:
    from types import ModuleType

REPOSITORY = "evintunador/triton_docs_tutorials"
COMMIT = "1d79d23423ffb9f2853dddbeb22aabb82dca8af8"
LESSONS = "05_fused_softmax 06_matmul 07_dropout 08_layernorm 09_flash_attention 10_CEloss_project".split()
FOLDERS = tuple(LESSONS)


def of(lesson: str) -> ModuleType:
    """One lesson's module."""
    return importlib.import_module(lesson)


def softmax(batch: int, length: int) -> object:
    return of("fused_softmax").softmax(plain(batch * HEADS, length, dtype=torch.float32))


def matmul(batch: int, length: int) -> object:
    return of("matmul").matmul(plain(batch * length, HIDDEN), plain(HIDDEN, 2 * HIDDEN))


def dropout(batch: int, length: int) -> object:
    return of("dropout").seeded_dropout(plain(batch, length, HIDDEN, dtype=torch.float32), p=0.5, seed=123)


def layer_norm(batch: int, length: int) -> object:
    weights = normal(HIDDEN, dtype=torch.float16), normal(HIDDEN, dtype=torch.float16)
    rows = normal(batch * length, HIDDEN, dtype=torch.float16)
    return of("layernorm").layernorm(rows, (HIDDEN,), *weights, 1e-5)


def attention(batch: int, length: int) -> object:
    made = (normal(batch, HEADS, length, HEAD, dtype=torch.float32) for _ in range(3))
    return of("flash_attention").triton_attention(*made, HEAD**-0.5)


def cross_entropy(batch: int, length: int) -> object:
    targets = torch.randint(0, VOCABULARY, (batch, length), device=DEVICE)
    made = plain(batch, length, HIDDEN, dtype=torch.float32), plain(HIDDEN, VOCABULARY, dtype=torch.float32)
    return of("celoss").fused_CELoss(*made, targets)


OPERATORS = {
    "softmax": softmax,
    "matmul": matmul,
    "dropout": dropout,
    "layer-norm": layer_norm,
    "attention": attention,
    "cross-entropy": cross_entropy,
}

"""RWKV's recurrence, in two spaces; the other recurrences of the repository are another's that is driven."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HIDDEN, normal

REPOSITORY = "berlino/seq_icl"
COMMIT = "9b9223d15348b5a415fb453ed988ed5f7ab9fbdc"
PARTS = ("src", "src.models", "src.models.sequence", "src.models.sequence.rnn")
BARE = (*PARTS, "src.models.sequence.rnn.scan_triton")
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"src.models.sequence.rnn.scan_triton.{module}"), name)(*arguments)


def numbers(*shape: int) -> torch.Tensor:
    """Random numbers in full precision that want their gradient."""
    return normal(*shape, dtype=torch.float32)


def wkv(batch: int, length: int) -> object:
    """The recurrence as it is, forward and backward."""
    made = numbers(HIDDEN), numbers(HIDDEN), numbers(batch, length, HIDDEN), numbers(batch, length, HIDDEN)
    return call("rwkv_vanilla", "wkv_triton_vanilla", *made, numbers(batch, 2, 1, HIDDEN))


def wkv_log(batch: int, length: int) -> object:
    """The recurrence of logarithms, forward and backward."""
    made = numbers(HIDDEN), numbers(HIDDEN), numbers(batch, length, HIDDEN), numbers(batch, length, HIDDEN)
    return call("rwkv_log", "wkv_triton_log_space", *made, numbers(batch, 3, 1, HIDDEN))


OPERATORS = {"wkv": wkv, "wkv_log": wkv_log}

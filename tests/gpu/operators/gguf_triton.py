"""Products of tokens with weights in three of llama.cpp's formats, of gguf-triton-kernel."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "PowerfulGhost/gguf-triton-kernel"
COMMIT = "f16cb67af1156dbbce2431a753cf7b338d4c3a8a"
WIDE = 1024
# How many weights a block has, and its bytes.
BLOCKS = {"mmq_q4_k": (256, 144), "mmq_q6_k": (256, 210), "mmq_q8_0": (32, 34)}


def multiply(form: str, batch: int, length: int) -> object:
    """Tokens times weights in one format."""
    many, size = BLOCKS[form]
    weights = torch.zeros(WIDE, HIDDEN // many * size, device=DEVICE, dtype=torch.uint8)
    tokens = plain(batch * length, HIDDEN, dtype=torch.float16)
    return getattr(importlib.import_module(f"kernels.{form}"), form)(weights, tokens, WIDE, batch * length, HIDDEN)


def four(batch: int, length: int) -> object:
    """Four bits."""
    return multiply("mmq_q4_k", batch, length)


def six(batch: int, length: int) -> object:
    """Six bits."""
    return multiply("mmq_q6_k", batch, length)


def eight(batch: int, length: int) -> object:
    """Eight bits."""
    return multiply("mmq_q8_0", batch, length)


OPERATORS = {"four": four, "six": six, "eight": eight}

"""HGRN2's gated linear attention, in chunks and by token, and its norm."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, HIDDEN, normal

REPOSITORY = "Doraemonzzz/hgru2-pytorch"
COMMIT = "caf92f0d8f31d946ec5537f7bb6b529b7230e8ee"
PARTS = ("gla", "gla.inter_chunk_contribution", "gla.intra_chunk_contribution", "helpers")
BARE = ("hgru2_pytorch", *(f"hgru2_pytorch.{part}" for part in PARTS))
CHUNK = 64
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))
CHUNKS = ((1, 128), (2, 256), (3, 640), (4, 1024), (1, 1664))


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"hgru2_pytorch.{module}"), name)(*arguments)


def numbers(*shape: int) -> torch.Tensor:
    """Random numbers in full precision that want their gradient."""
    return normal(*shape, dtype=torch.float32)


def recurrent(batch: int, length: int) -> object:
    """By token, forward and backward."""
    made = (numbers(batch, HEADS, length, HEAD) for _ in range(4))
    return call("gla.recurrent_fuse", "fused_recurrent_gla", *made)


def norm(batch: int, length: int) -> object:
    """A norm without a weight, forward and backward."""
    module = importlib.import_module("hgru2_pytorch.helpers.srmsnorm_triton")
    return module._SrmsNorm.apply(normal(batch, length, HIDDEN), 1e-6)


def between(batch: int, length: int) -> object:
    """What chunks hand on, with keys' gates."""
    shape = batch, HEADS, length // CHUNK, CHUNK, HEAD
    made = numbers(*shape), numbers(*shape), numbers(*shape), numbers(*shape)
    return call("gla.inter_chunk_contribution.fn", "inter_chunk_onc", *made, None)[2]


def between_ungated(batch: int, length: int) -> object:
    """What chunks hand on without gates."""
    shape = batch, HEADS, length // CHUNK, CHUNK, HEAD
    made = numbers(*shape), numbers(*shape), numbers(*shape)
    return call("gla.inter_chunk_contribution.fn", "inter_chunk_onc", *made, None, None)[2]


def within(batch: int, length: int) -> object:
    """What is in a chunk, with gates of keys and of values."""
    shape = batch, HEADS, length // CHUNK, CHUNK, HEAD
    return call("gla.intra_chunk_contribution.fn", "intra_chunk_onc", *(numbers(*shape) for _ in range(5)))


OPERATORS = {
    "recurrent": recurrent,
    "norm": norm,
    "between": between,
    "between_ungated": between_ungated,
    "within": within,
}
SHAPES_OF = {"between": CHUNKS, "between_ungated": CHUNKS, "within": CHUNKS}

"""Test-time training over the frames of a video."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, normal

REPOSITORY = "test-time-training/ttt-video-dit"
COMMIT = "6c316a70e354eec671d35c2177f0439577c8c0de"
BARE = ("ttt", "ttt.models", "ttt.models.ssm", "ttt.models.ssm.kernels")
CHUNK, KEPT = 64, 4
SHAPES = ((1, 64), (2, 128), (1, 192), (3, 256), (1, 384), (2, 512), (1, 768), (2, 1024), (1, 1664))


def scan(batch: int, length: int) -> object:
    """A video of `length` tokens in whole chunks, forward and backward."""
    library = importlib.import_module("ttt.models.ssm.linear_triton")
    chunks = length // CHUNK
    norm = normal(HEADS, HEAD, dtype=torch.float32), normal(HEADS, HEAD, dtype=torch.float32)
    weights = normal(batch, HEADS, HEAD, HEAD, dtype=torch.float32), normal(batch, HEADS, 1, HEAD, dtype=torch.float32)
    tokens = [normal(batch, HEADS, chunks, CHUNK, HEAD) for _ in range(3)]
    rates = normal(batch, HEADS, chunks, CHUNK, CHUNK)
    return library.TritonLinear.apply(*norm, *weights, *tokens, rates, min(KEPT, chunks))


OPERATORS = {"scan": scan}

"""TriAttention's scores of cached keys by their frequencies."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, plain

REPOSITORY = "WeianMao/triattention"
COMMIT = "c3744ee6a50522a1559a577f85aef2b165a344f2"
BARE = ("triattention", "triattention.vllm", "triattention.vllm.core", "triattention.vllm.core.kernels")
OFFSETS, EVERY = 17, 128


def score(batch: int, length: int, *, cached: bool) -> object:
    """All keys of each sequence, with or without tables of angles."""
    library = importlib.import_module("triattention.vllm.core.kernels.triton_scoring")
    half = HEAD // 2
    query = [plain(HEADS, half, dtype=torch.float32) for _ in range(4)]
    omega, offsets = plain(half, dtype=torch.float32), plain(OFFSETS, dtype=torch.float32)
    tables = library.create_trig_cache(4096, EVERY, offsets, omega, torch.device(DEVICE)) if cached else None
    begun = EVERY * -(-length // EVERY)
    places = torch.arange(length, device=DEVICE, dtype=torch.int32)
    made = plain(batch, HEADS, length, HEAD), places, *query, omega, offsets, begun
    return library.triattention_scoring(*made, "mean", tables, rope_style="half")


def scores(batch: int, length: int) -> object:
    """Angles are computed."""
    return score(batch, length, cached=False)


def scores_cached(batch: int, length: int) -> object:
    """Angles are looked up."""
    return score(batch, length, cached=True)


OPERATORS = {"scores": scores, "scores-cached": scores_cached}

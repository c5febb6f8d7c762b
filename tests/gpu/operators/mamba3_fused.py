"""The next token of Mamba-3's layers: of one or several inputs, in one kernel or with torch around it."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, plain

REPOSITORY = "michaelYZh/mamba3-fused-triton-kernel"
COMMIT = "31a6c9e09e3e4090374b156b34b5350d557de2d0"
HIDDEN, STATE, HEAD, RANK = 256, 64, 32, 4


@torch.no_grad()
def decode(batch: int, *, several: bool, **how: bool) -> object:
    """Two tokens for each of `batch` sequences."""
    models = importlib.import_module("src.models.mamba3")
    sizes = {"d_model": HIDDEN, "d_state": STATE, "headdim": HEAD, "mimo_rank": RANK}
    layer = models.Mamba3(**sizes, is_mimo=several, device=DEVICE).to(DEVICE)
    decoder = importlib.import_module("src.models.inference").Mamba3Decoder(layer, **how)
    state = decoder.init_state(batch, device=DEVICE)
    _, state = decoder.step(plain(batch, HIDDEN, dtype=torch.float32), state)
    return decoder.step(plain(batch, HIDDEN, dtype=torch.float32), state)[0]


def one(batch: int, length: int) -> object:
    """One input, and all but the recurrence in torch."""
    return decode(batch * length, several=False, use_triton=True)


def one_gated(batch: int, length: int) -> object:
    """One input and its gate."""
    return decode(batch * length, several=False, use_triton_fused=True)


def one_whole(batch: int, length: int) -> object:
    """One input, all in one kernel."""
    return decode(batch * length, several=False, use_triton_full_fused=True)


def several(batch: int, length: int) -> object:
    """Several inputs, and all but the recurrence in torch."""
    return decode(batch * length, several=True, use_triton=True)


def several_gated(batch: int, length: int) -> object:
    """Several inputs and their gate."""
    return decode(batch * length, several=True, use_triton_fused=True)


def several_whole(batch: int, length: int) -> object:
    """Several inputs, all in one kernel."""
    return decode(batch * length, several=True, use_triton_full_fused=True)


OPERATORS = {
    "one": one,
    "one-gated": one_gated,
    "one-whole": one_whole,
    "several": several,
    "several-gated": several_gated,
    "several-whole": several_whole,
}

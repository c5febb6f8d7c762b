"""Adam of offload_adam, which steps a small model that has seen a batch, with whole weights and with few bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "tascj/offload_adam"
COMMIT = "466b80e846484281c77373933e283fa965ab6692"
FOLDERS = ("src",)
WIDE = 1024
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (2, 777))


def model(bits: str | None = None) -> torch.nn.Module:
    """Two layers, whose weights are held in the class `bits`."""
    layers = torch.nn.Linear(HIDDEN, WIDE), torch.nn.ReLU(), torch.nn.Linear(WIDE, HIDDEN)
    made = torch.nn.Sequential(*layers).to(DEVICE, torch.bfloat16)
    if bits:
        library: Any = importlib.import_module("offload_adam.qweight")
        library.quantize_linears(made, getattr(library, bits), strict=True)
    return made


def train(made: torch.nn.Module, mode: str, batch: int, length: int) -> object:
    """Two steps of a model."""
    optimizer = importlib.import_module("offload_adam").Adam(made.parameters(), mode=mode)
    for _ in range(2):
        made(plain(batch, length, HIDDEN)).float().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return None


def rounded(batch: int, length: int) -> object:
    """Weights that are rounded by chance."""
    return train(model(), "stochastic_rounding", batch, length)


def whole(batch: int, length: int) -> object:
    """Weights of 32 bits beside those of 16."""
    return train(model(), "fp32_master", batch, length)


def split(batch: int, length: int) -> object:
    """Weights of 31 bits in two halves."""
    return train(model(), "fp31_master", batch, length)


def halves(batch: int, length: int) -> object:
    """Weights of 32 bits in two halves."""
    return train(model(), "fp32_master_custom_rounding", batch, length)


def eight(batch: int, length: int) -> object:
    """Layers of 8 bits."""
    return train(model("Int8QWeight"), "fp32_master", batch, length)


def four(batch: int, length: int) -> object:
    """Layers of four bits."""
    return train(model("Int4QWeight"), "fp32_master", batch, length)


def normal_floats(batch: int, length: int) -> object:
    """Layers of four bits for normal numbers."""
    return train(model("NF4QWeight"), "fp32_master", batch, length)


def small_floats(batch: int, length: int) -> object:
    """Layers of floats of four bits."""
    return train(model("NVFP4QWeight"), "fp32_master", batch, length)


OPERATORS = {
    "rounded": rounded,
    "whole": whole,
    "split": split,
    "halves": halves,
    "eight": eight,
    "four": four,
    "normal-floats": normal_floats,
    "small-floats": small_floats,
}

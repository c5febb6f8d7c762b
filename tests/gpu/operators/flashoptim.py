"""FlashOptim's optimizers, which step a small model that has seen a batch, and what they pack their states with."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "databricks/flashoptim"
COMMIT = "8b2d966e0329ed2b0c22c3782cae3989c0ccb03b"
WIDE = 1024
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (2, 777))


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function or make an object of the library."""
    return getattr(importlib.import_module("flashoptim.optimizers"), name)(*arguments, **more)


def train(optimizer: str, batch: int, length: int, **more: object) -> object:
    """Two steps of a model."""
    layers = torch.nn.Linear(HIDDEN, WIDE), torch.nn.ReLU(), torch.nn.LayerNorm(WIDE), torch.nn.Linear(WIDE, HIDDEN)
    model = torch.nn.Sequential(*layers).to(DEVICE, torch.bfloat16)
    made = call(optimizer, model.parameters(), lr=1e-3, **more)
    for _ in range(2):
        model(plain(batch, length, HIDDEN)).float().sum().backward()
        made.step()
        made.zero_grad()
    return None


def adamw(batch: int, length: int) -> object:
    """AdamW with states of 8 bits and weights of 24."""
    return train("FlashAdamW", batch, length)


def whole(batch: int, length: int) -> object:
    """Adam with whole states and weights of 32 bits."""
    return train("FlashAdam", batch, length, quantize=False, master_weight_bits=32)


def momentum(batch: int, length: int) -> object:
    """Stochastic descent with a momentum of 8 bits."""
    return train("FlashSGDW", batch, length, momentum=0.9, nesterov=True)


def lion(batch: int, length: int) -> object:
    """Lion with a momentum of 8 bits."""
    return train("FlashLion", batch, length)


def pack(batch: int, length: int) -> object:
    """Activations to 8 bits and back."""
    tokens = plain(batch * length, HIDDEN, dtype=torch.float32)
    return call("dequantize", *call("quantize", tokens))


def correct(batch: int, length: int) -> object:
    """What is lost of activations in 16 bits, and those as they were."""
    tokens = plain(batch * length, HIDDEN, dtype=torch.float32)
    narrow = tokens.to(torch.bfloat16)
    return call("reconstruct_fp32_param", narrow, call("compute_ecc_bits", tokens, narrow))


OPERATORS = {
    "adamw": adamw,
    "whole": whole,
    "momentum": momentum,
    "lion": lion,
    "pack": pack,
    "correct": correct,
}

"""TorchRL's recurrent layers that begin anew within a sequence."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, normal

REPOSITORY = "pytorch/rl"
COMMIT = "ae9719f17b1517af5c2523a36c4616f003ee55cf"
BARE = ("torchrl", "torchrl.modules", "torchrl.modules.tensordict_module")
STATE, FEATURES, UNEVEN = 64, 32, 48
SHAPES = ((1, 1), (2, 16), (3, 33), (5, 100), (7, 200), (2, 512))


def recur(name: str, gates: int, states: int, size: int, batch: int, length: int, **more: object) -> object:
    """A layer with `gates` gates and `states` states of `size`."""
    whole = {"dtype": torch.float32}
    before = [normal(batch, length, size, **whole) for _ in range(states)]
    weights = normal(gates * size, FEATURES, **whole), normal(gates * size, size, **whole)
    offsets = normal(gates * size, **whole), normal(gates * size, **whole)
    begins = torch.zeros(batch, length, device=DEVICE, dtype=torch.bool)
    module = importlib.import_module("torchrl.modules.tensordict_module._rnn_triton")
    made = normal(batch, length, FEATURES, **whole), *before, *weights, *offsets, begins
    return getattr(module, name)(*made, input_precision="ieee", **more)[0]


def gru(batch: int, length: int) -> object:
    """A GRU, forward and backward."""
    return recur("gru_triton", 3, 1, STATE, batch, length)


def lstm(batch: int, length: int) -> object:
    """An LSTM, forward and backward."""
    return recur("lstm_triton", 4, 2, STATE, batch, length)


def padded(batch: int, length: int) -> object:
    """A GRU whose state is padded, forward and backward."""
    return recur("gru_triton", 3, 1, UNEVEN, batch, length)


def recomputed(batch: int, length: int) -> object:
    """An LSTM that keeps no gates, forward and backward."""
    return recur("lstm_triton", 4, 2, STATE, batch, length, recompute=True)


OPERATORS = {"gru": gru, "lstm": lstm, "padded": padded, "recomputed": recomputed}

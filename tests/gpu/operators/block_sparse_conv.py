"""A convolution in time between some blocks of channels."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, normal

REPOSITORY = "TristHas/block_sparse_conv"
COMMIT = "4e793705fa4de45fcb510b666d92ee5bf9344f15"
CHANNELS, BLOCK, STEPS, TAPS = 64, 16, 64, 3


def convolution(batch: int, length: int) -> object:
    """`length` steps of `batch` signals, forward and backward."""
    places = torch.arange(CHANNELS // BLOCK, device=DEVICE, dtype=torch.int32)
    values = normal(places.shape[0], BLOCK, BLOCK, TAPS, dtype=torch.float32)
    signals = normal(batch, CHANNELS, length, dtype=torch.float32)
    made = signals, torch.stack((places, places), 1), values, BLOCK, STEPS
    return importlib.import_module("torch_function").block_sparse_conv_1d_autograd(*made)


OPERATORS = {"convolution": convolution}

"""snn_fusion's spiking neurons alone, after a layer, and before a mean and a layer."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import HIDDEN, plain

REPOSITORY = "pengjh0111/triton-snn-fusion"
COMMIT = "5778ff26a0c53e642e916e064219aa6be7a6b9dd"
# Images have `length` pixels in each row.
STEPS, CHANNELS, ROWS, WIDE, CLASSES = 4, 16, 8, 256, 10
NEURON = {"v_threshold": 1.0, "v_reset": 0.0, "tau": 2.0, "detach_reset": True}


def run(module: str, name: str, *arguments: object) -> object:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"kernels.{module}"), name)(*arguments, **NEURON)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def neurons(batch: int, length: int) -> object:
    """What all pixels of some steps make their neurons do."""
    images, start = whole(STEPS, batch, CHANNELS, ROWS, length), whole(batch, CHANNELS, ROWS, length)
    return run("generated_temporal_lif_kernel", "run_fused_temporal_lif_state_kernel", images, start)


def layer(batch: int, length: int) -> object:
    """A layer of neurons."""
    tokens, start = whole(STEPS, batch * length, HIDDEN), whole(batch * length, WIDE)
    made = tokens, whole(WIDE, HIDDEN), whole(WIDE), start
    return run("generated_temporal_linear_lif_kernel", "run_fused_temporal_linear_lif_state_kernel", *made)


def classes(batch: int, length: int) -> object:
    """What neurons say of whole images."""
    images, start = whole(STEPS, batch, CHANNELS, ROWS, length), whole(batch, CHANNELS, ROWS, length)
    made = images, start, whole(CLASSES, CHANNELS), whole(CLASSES)
    return run("generated_temporal_lif_avgpool_linear_kernel", "run_fused_temporal_lif_avgpool_linear_kernel", *made)


OPERATORS = {"neurons": neurons, "layer": layer, "classes": classes}

"""triton-csprng's random numbers."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import plain

PACKAGE = Package("triton-csprng", "0.1.5")
CHANNELS, BOUND, BLOCKS = 4, 12289, 64


def call(name: str, *arguments: object) -> Any:
    """Call a function of the library with a stream of its own."""
    library = importlib.import_module("triton_csprng")
    stream = library.ChaCha20Rng(key=list(range(8)), nonce=[0, 1], device="cuda:0")
    return getattr(library, name)(stream, *arguments)


def uniform(batch: int, length: int) -> object:
    """Numbers under one bound."""
    return call("bounded_uint64", BOUND, (batch, length))


def uniform_of_channels(batch: int, length: int) -> object:
    """Numbers under a bound for each channel."""
    return call("bounded_uint64", [BOUND + channel for channel in range(CHANNELS)], (CHANNELS, batch, length))


def gaussian(batch: int, length: int) -> object:
    """Whole numbers around zero."""
    return call("discrete_gaussian", (batch, length))


def rounded(batch: int, length: int) -> object:
    """Numbers rounded by chance."""
    return call("stochastic_round", plain(batch, length, dtype=torch.float64).to("cuda:0"))


def blocks(batch: int, length: int) -> object:
    """The cipher alone, `length` blocks."""
    library = importlib.import_module("triton_csprng")
    states = library.make_chacha20_state(num_blocks=length, key=list(range(8)), nonce=[0, 1], device="cuda:0")
    return library.chacha20_blocks(states, step=1)


OPERATORS = {
    "uniform": uniform,
    "uniform-of-channels": uniform_of_channels,
    "gaussian": gaussian,
    "rounded": rounded,
    "blocks": blocks,
}

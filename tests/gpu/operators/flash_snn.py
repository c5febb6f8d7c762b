"""flash-snn's spiking neurons and leaky integrators: the length is the number of steps."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HIDDEN, normal, plain

REPOSITORY = "AllenYolk/flash-snn"
COMMIT = "ba26e614fa7aa628db1152f85b124469d5f0bc27"
# One neuron imports another library, which no other needs.
BARE = ("flashsnn", "flashsnn.ops", "flashsnn.ops.psn")
WINDOW, LEAK = 7, 0.5
SHAPES = ((1, 1), (2, 4), (3, 6), (5, 10), (6, 7), (7, 20), (1, 33), (2, 48), (4, 64), (3, 100))


def learn(module: str, name: str, *arguments: object) -> Any:
    """Run one of the library's functions that learn."""
    return getattr(importlib.import_module(f"flashsnn.ops.{module}"), name).apply(*arguments)


def series(batch: int, length: int) -> torch.Tensor:
    """What all steps give each neuron."""
    return normal(length, batch, HIDDEN, dtype=torch.float32)


def neurons(batch: int, length: int, kind: str, *, detached: bool) -> object:
    """Neurons whose leak is fixed, forward and backward."""
    name = f"MultistepLIFAtan{kind.title()}{'' if detached else 'Not'}DetachedFunction"
    return learn(f"lif.lif_{kind}", name, series(batch, length), LEAK)


def learned(batch: int, length: int, kind: str, *, detached: bool) -> object:
    """Neurons whose leak is learned, forward and backward."""
    name = f"MultistepPLIFAtan{kind.title()}{'' if detached else 'Not'}DetachedFunction"
    given = series(batch, length)
    return learn(f"plif.plif_{kind}", name, given, torch.sigmoid(normal(dtype=torch.float32)).expand(given.shape))


def inference(batch: int, length: int) -> object:
    """Neurons of each kind where nothing is learned."""
    given = plain(length, batch, HIDDEN, dtype=torch.float32)
    leaks = torch.sigmoid(plain(dtype=torch.float32)).expand(given.shape)
    for kind in ("hard", "soft"):
        learn(f"lif.lif_{kind}", f"MultistepLIFAtan{kind.title()}DetachedFunction", given, LEAK)
        learn(f"plif.plif_{kind}", f"MultistepPLIFAtan{kind.title()}DetachedFunction", given, leaks)
    return given


def integrate(batch: int, length: int) -> object:
    """An integrator that never spikes, forward and backward."""
    return learn("leaky_integrator.li_iterative", "MultistepLIIterativeFunction", series(batch, length), LEAK)


def integrate_learned(batch: int, length: int) -> object:
    """An integrator whose leak is learned, forward and backward."""
    given = series(batch, length)
    leaks = torch.sigmoid(normal(dtype=torch.float32)).expand(given.shape)
    return learn("leaky_integrator.pli_iterative", "MultistepPLIIterativeFunction", given, leaks)


def slide(_: int, length: int) -> object:
    """The weight by which neurons see the last few steps, forward and backward."""
    weight = normal(WINDOW, dtype=torch.float32)
    return learn("psn.sliding_psn", "GenerateSlidingPSNGemmWeightFunction", weight, length)


OPERATORS = {
    "hard": lambda batch, length: neurons(batch, length, "hard", detached=False),
    "hard_detached": lambda batch, length: neurons(batch, length, "hard", detached=True),
    "soft": lambda batch, length: neurons(batch, length, "soft", detached=False),
    "soft_detached": lambda batch, length: neurons(batch, length, "soft", detached=True),
    "hard_learned": lambda batch, length: learned(batch, length, "hard", detached=False),
    "hard_learned_detached": lambda batch, length: learned(batch, length, "hard", detached=True),
    "soft_learned": lambda batch, length: learned(batch, length, "soft", detached=False),
    "soft_learned_detached": lambda batch, length: learned(batch, length, "soft", detached=True),
    "inference": inference,
    "integrate": integrate,
    "integrate_learned": integrate_learned,
    "slide": slide,
}

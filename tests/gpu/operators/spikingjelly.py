"""SpikingJelly's neurons over several steps: the length is the number of steps."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HIDDEN, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("spikingjelly", "2.0.0")
BARE = ("spikingjelly",)
SHAPES = ((1, 1), (2, 4), (3, 6), (5, 10), (6, 7), (7, 20), (1, 33), (2, 48), (4, 64), (3, 100))


def neuron(name: str, *parameters: float | bool | None, leak: bool = False) -> Callable[[int, int], object]:
    """Neurons whose potential decays; `parameters` are those that both directions take."""

    def call(batch: int, length: int) -> object:
        module = importlib.import_module(f"spikingjelly._ops.{name}.triton")
        steps, state = plain(length, batch * HIDDEN, dtype=torch.float32), plain(batch * HIDDEN, dtype=torch.float32)
        weight = [plain(dtype=torch.float32)] if leak else []
        spikes, potentials, before = module._forward_impl(steps, state, *weight, *parameters, 1.0, True)[:3]
        gradients = torch.ones_like(spikes), torch.ones_like(potentials)
        return module._backward_impl(*gradients, before, *parameters, 1.0, True) if not leak else before

    return call


OPERATORS = {
    "integrate": neuron("if_", 1.0, 0.0, False),
    "leak": neuron("lif", 2.0, True, 1.0, 0.0, False),
    "leak-softly": neuron("lif", 2.0, False, 1.0, None, True),
    "leak-learned": neuron("plif", True, 1.0, 0.0, False, leak=True),
}

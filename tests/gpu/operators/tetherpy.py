"""tetherpy's spiking neurons, with steps for the length."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("tetherpy", "0.2.0")
BARE = ("tether", "tether.functional", "tether.kernels")
SINGLE = torch.float32


def of(module: str) -> object:
    """One module of the package."""
    return importlib.import_module(f"tether.{module}")


def neurons(name: str, *, each: bool) -> Callable[[int, int], object]:
    """Neurons that fire above a threshold; `each` with a threshold of its own."""

    def call(batch: int, length: int) -> object:
        count = batch * HIDDEN
        parameters = [torch.full((count,) if each else (), value, device=DEVICE) for value in (0.9, 1.0, 2.0)]
        function = getattr(of(f"functional.{name.lower()}"), f"{name}SubFunction")
        return function.apply(normal(length, count, dtype=SINGLE), plain(count, dtype=SINGLE), *parameters, 0)

    return call


def adapting(batch: int, length: int) -> object:
    """Neurons whose threshold adapts."""
    count = batch * HIDDEN
    parameters = [torch.full((), value, device=DEVICE) for value in (0.9, 0.9, 1.0, 0.5, 2.0)]
    made = normal(length, count, dtype=SINGLE), plain(count, dtype=SINGLE), plain(count, dtype=SINGLE)
    return of("functional.alif").ALIFSubFunction.apply(*made, *parameters)


def projected(batch: int, length: int) -> object:
    """A projection with neurons behind it."""
    return of("kernels.linear_lif").linear_lif_fwd(
        plain(length, batch, HIDDEN, dtype=SINGLE), plain(HIDDEN, HIDDEN, dtype=SINGLE)
    )


def attention(batch: int, length: int) -> object:
    """Linear attention over steps."""
    made = (plain(length, batch, HEADS, 16, HEAD, dtype=SINGLE) for _ in range(3))
    return of("kernels.attention").causal_linear_attention_fused(*made)


def encode(batch: int, length: int) -> object:
    """Values to spikes, in as many steps as the length."""
    return of("kernels.encoding").rate_encoding_triton(plain(batch, HIDDEN, dtype=SINGLE), length)


OPERATORS = {
    "neurons": neurons("LIF", each=False),
    "neurons-each": neurons("PLIF", each=True),
    "adapting": adapting,
    "projected": projected,
    "attention": attention,
    "encode": encode,
}

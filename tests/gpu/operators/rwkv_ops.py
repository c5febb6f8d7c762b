"""rwkv-ops' recurrences of PyTorch that are written in Triton."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, HEAD, HEADS, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("rwkv-ops", "0.11.3")
FAMILIES = ("delta_net_chunk", "delta_net_recurrent", "gdn_chunk", "gdn_recurrent", "rwkv7_kernel")
BARE = ("rwkv_ops", *(f"rwkv_ops.{family}" for family in FAMILIES))
SHAPES = CHUNKS


def of(family: str) -> object:
    """The functions of one family."""
    return importlib.import_module(f"rwkv_ops.{family}.torch_triton_kernel")


def delta(family: str, name: str, *, gated: bool, gradient: bool = True) -> Callable[[int, int], object]:
    """The delta rule, in chunks or step by step, from a state."""

    def call(batch: int, length: int) -> object:
        random = normal if gradient else plain
        made = [random(batch, length, HEADS, HEAD) for _ in range(3)]
        gates = [random(batch, length, HEADS, dtype=torch.float32) for _ in range(1 + gated)]
        first = random(batch, HEADS, HEAD, HEAD, dtype=torch.float32)
        result = getattr(of(family), name)(*made, *gates, initial_state=first)
        return result[0] if isinstance(result, tuple) else result

    return call


def seventh(*, masked: bool) -> Callable[[int, int], object]:
    """The recurrence of RWKV-7."""

    def call(batch: int, length: int) -> object:
        made = [normal(batch, length, HEADS, HEAD) for _ in range(6)]
        more = {"mask": torch.ones(batch, length, device=made[0].device)} if masked else {}
        return of("rwkv7_kernel").generalized_delta_rule(*made, **more)[0]

    return call


OPERATORS = {
    "delta-chunk": delta("delta_net_chunk", "delta_net_chunk", gated=False),
    "delta-recurrent": delta("delta_net_recurrent", "delta_net_recurrent", gated=False),
    "delta-recurrent-inference": delta(
        "delta_net_recurrent", "delta_net_recurrent_inference", gated=False, gradient=False
    ),
    "gated-chunk": delta("gdn_chunk", "gated_delta_net_chunk", gated=True),
    "gated-recurrent": delta("gdn_recurrent", "gated_delta_net_recurrent", gated=True),
    "gated-recurrent-inference": delta(
        "gdn_recurrent", "gated_delta_net_recurrent_inference", gated=True, gradient=False
    ),
    "seventh": seventh(masked=False),
    "seventh-masked": seventh(masked=True),
}

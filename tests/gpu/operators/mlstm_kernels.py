"""The operators of mlstm_kernels: its own, and those that it brings along to compare with."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import CHUNKS, HEAD, HEADS, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

BASELINES = "mlstm_kernels.baselines"


def sequence(name: str, **options: object) -> Callable[[int, int], object]:
    """A kernel over whole sequences, by the name under which the package registers it."""

    def call(batch: int, length: int) -> object:
        from mlstm_kernels.torch import get_mlstm_kernel

        made = [normal(batch, HEADS, length, HEAD, dtype=torch.float32) for _ in range(3)]
        gates = [normal(batch, HEADS, length, dtype=torch.float32) for _ in range(2)]
        return get_mlstm_kernel(name)(*made, *gates, autocast_kernel_dtype=torch.bfloat16, **options)

    return call


def stepwise(batch: int, length: int) -> object:
    """A sequence taken one step at a time."""
    from mlstm_kernels.torch import get_mlstm_sequence_kernel

    made = [plain(batch, HEADS, length, HEAD) for _ in range(3)]
    gates = [plain(batch, HEADS, length) for _ in range(2)]
    return get_mlstm_sequence_kernel("native_sequence__triton")(*made, *gates)


def step(module: str, name: str) -> Callable[[int, int], object]:
    """One step of every sequence of a batch."""

    def call(batch: int, length: int) -> object:
        function = getattr(importlib.import_module(f"mlstm_kernels.torch.recurrent.{module}"), name)
        made = [plain(batch, HEADS, HEAD) for _ in range(3)]
        gates = [plain(batch, HEADS, 1) for _ in range(2)]
        state = plain(batch, HEADS, HEAD, HEAD), plain(batch, HEADS, HEAD), plain(batch, HEADS, 1)
        return function(*made, *gates, *state)

    return call


def linear_attention(module: str, name: str, gate: tuple[int, ...]) -> Callable[[int, int], object]:
    """A gated linear attention; `gate` is what the gate has behind its positions."""

    def call(batch: int, length: int) -> object:
        function = getattr(importlib.import_module(f"{BASELINES}.flash_linear_attention.{module}"), name)
        made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
        decay = torch.nn.functional.logsigmoid(plain(batch, HEADS, length, *gate, dtype=torch.float32))
        return function(*made, decay.requires_grad_())

    return call


def cumulative(name: str) -> Callable[[int, int], object]:
    """A running sum over positions."""

    def call(batch: int, length: int) -> object:
        function = getattr(importlib.import_module(f"{BASELINES}.flash_linear_attention.fla_utils"), name)
        return function(normal(batch, HEADS, length, HEAD, dtype=torch.float32))

    return call


def tutorial(batch: int, length: int) -> object:
    """Flash attention as Triton's tutorial has it."""
    from mlstm_kernels.baselines.flash_attention.triton_tutorial import attention_causal

    return attention_causal(*(normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)))


def lightning(batch: int, length: int) -> object:
    """Lightning attention."""
    from mlstm_kernels.baselines.lightning_attention.lightning_attn2 import LightningAttention2

    made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
    return LightningAttention2.apply(*made, torch.rand(HEADS, 1, 1, device=made[0].device))


OPERATORS = {
    "limit-chunk": sequence("chunkwise--triton_limit_chunk"),
    "limit-chunk-128": sequence("chunkwise--triton_limit_chunk", chunk_size=128),
    "xl-chunk": sequence("chunkwise--triton_xl_chunk"),
    "xl-chunk-64": sequence("chunkwise--triton_xl_chunk", chunk_size=64),
    "xl-chunk-siging": sequence("chunkwise--triton_xl_chunk_siging"),
    "xl-chunk-siging-plain": sequence("chunkwise--triton_xl_chunk_siging", normalize=False),
    "limit-headdim": sequence("parallel--triton_limit_headdim"),
    "stepwise": stepwise,
    "step": step("triton_step", "mlstm_recurrent_step__triton"),
    "step-alternate": step("triton_step_alternate", "mlstm_recurrent_step__triton_alternate"),
    "gla-chunk": linear_attention("gla.chunk", "chunk_gla", (HEAD,)),
    "gla-recurrent": linear_attention("gla.recurrent_fuse", "fused_recurrent_gla", (HEAD,)),
    "simple-gla": linear_attention("simple_gla.chunk", "chunk_simple_gla", ()),
    "cumsum": cumulative("cumsum"),
    "reversed-cumsum": cumulative("reversed_cumsum"),
    "tutorial": tutorial,
    "lightning": lightning,
}
SHAPES = CHUNKS
SHAPES_OF = {"stepwise": ((1, 2), (2, 3), (3, 5), (5, 7), (6, 4))}

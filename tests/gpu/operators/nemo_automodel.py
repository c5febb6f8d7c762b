"""NeMo AutoModel's adapters, losses and rotations."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import ANY, DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, normal, plain

PACKAGE = Package("nemo-automodel", "0.7.0")
BARE = (
    "nemo_automodel",
    "nemo_automodel.components",
    "nemo_automodel.components._peft",
    "nemo_automodel.components.loss",
    "nemo_automodel.components.loss.triton",
    "nemo_automodel.components.models",
    "nemo_automodel.components.models.common",
)
RANK, WIDE = 16, 256
SHAPES_OF = {"losses-soft": ANY[1:]}


def call(module: str, name: str, *arguments: Any, **more: Any) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"nemo_automodel.components.{module}"), name)(*arguments, **more)


def adapter(batch: int, length: int) -> object:
    """The result of an adapter, on top of the weight's."""
    tokens = batch * length
    made = plain(tokens, HIDDEN), plain(HIDDEN, RANK), plain(RANK, WIDE), plain(tokens, WIDE)
    return call("_peft.lora_kernel", "lora_forward_wrapper", *made, 2.0, torch.bfloat16)


def adapter_inputs(batch: int, length: int) -> object:
    """The gradients of the adapter's input and of its first weight."""
    tokens = batch * length
    made = plain(HIDDEN, tokens), plain(tokens, WIDE), plain(WIDE, RANK), plain(RANK, HIDDEN)
    return call("_peft.lora_kernel", "lora_da_dx_update_wrapper", *made, 2.0, torch.bfloat16)


def adapter_second(batch: int, length: int) -> object:
    """The gradient of the adapter's second weight."""
    tokens = batch * length
    made = plain(RANK, HIDDEN), plain(HIDDEN, tokens), plain(tokens, WIDE)
    return call("_peft.lora_kernel", "lora_db_update_wrapper", *made, 2.0, torch.bfloat16)


def gated(batch: int, length: int) -> object:
    """A gated unit, and its gradients in place."""
    made = [plain(batch * length, HIDDEN) for _ in range(3)]
    call("_peft.lora_mlp", "_swiglu_bwd_inplace", *made)
    return call("_peft.lora_mlp", "_swiglu_fwd", *made[:2])


def losses(batch: int, length: int) -> object:
    """Cross entropy."""
    labels = torch.randint(0, VOCABULARY, (batch, length), device=DEVICE)
    logits = plain(batch, length, VOCABULARY, dtype=torch.float32)
    loss, gradient = call(
        "loss.triton.te_cross_entropy", "cross_entropy_forward", logits, labels, 0.0, True, None, -100
    )[:2]
    return call("loss.triton.te_cross_entropy", "cross_entropy_backward", gradient, torch.ones_like(loss))


def losses_soft(batch: int, length: int) -> object:
    """Cross entropy against probabilities."""
    targets = torch.rand(batch, length, VOCABULARY, device=DEVICE)
    mask = torch.ones(batch, length, device=DEVICE, dtype=torch.bool)
    made = normal(batch, length, VOCABULARY, dtype=torch.float32), targets, mask
    return call("loss.triton.soft_cross_entropy", "fused_soft_cross_entropy", *made)


def rotate(batch: int, length: int) -> object:
    """The rotation of the last channels."""
    made = normal(batch, length, HEADS, HEAD), plain(batch, length, 16, dtype=torch.float32)
    return call("models.common.rope_triton", "apply_rope_triton", *made)


OPERATORS = {
    "adapter": adapter,
    "adapter-inputs": adapter_inputs,
    "adapter-second": adapter_second,
    "gated": gated,
    "losses": losses,
    "losses-soft": losses_soft,
    "rotate": rotate,
}

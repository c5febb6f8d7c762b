"""XMA's recurrent layers, linear attention and functions."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, HIDDEN, VOCABULARY, lengths, normal, starts

REPOSITORY = "open-lm-engine/accelerated-model-architectures"
COMMIT = "384ed0a7bd82ced1f40609603dd541cac5416844"
STATE = 32


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library, in Triton."""
    backend = importlib.import_module("xma").KernelBackend.triton
    return getattr(importlib.import_module(f"xma.{module}"), name)(*arguments, kernel_backend=backend, **more)


def single(*shape: int) -> torch.Tensor:
    """Single precision."""
    return normal(*shape, dtype=torch.float32)


def recurrent(batch: int, length: int) -> object:
    """A recurrent layer, and one with gates."""
    made = [single(batch, length, HEADS, STATE) for _ in range(3)]
    weights = [single(HEADS, STATE, STATE) for _ in range(3)]
    call("layers", "rnn", made[0], weights[0])
    return call("layers", "gru", made[0], weights[0], made[1], weights[1], made[2], weights[2])[0]


def recurrent_packed(batch: int, length: int) -> object:
    """The same for sequences that lie one after another."""
    sizes = lengths(batch, length)
    made = [single(sum(sizes), HEADS, STATE) for _ in range(3)]
    weights = [single(HEADS, STATE, STATE) for _ in range(3)]
    packed = {"cu_seqlens": starts(sizes), "max_seqlen": length}
    call("layers", "rnn", made[0], weights[0], **packed)
    return call("layers", "gru", made[0], weights[0], made[1], weights[1], made[2], weights[2], **packed)[0]


def matrix_state(batch: int, length: int) -> object:
    """A recurrent layer whose state is a matrix."""
    made = [single(batch, length, HEADS, STATE) for _ in range(3)]
    return call("layers", "m2rnn", *made, single(HEADS, STATE, STATE), single(batch, length, HEADS))[0]


def linear_attention(batch: int, length: int) -> None:
    """Linear attention; its backward pass is not there in Triton."""
    call("layers", "linear_attention", *(normal(batch, length, HEADS, STATE) for _ in range(3)), None)


def pack(batch: int, length: int) -> object:
    """Padded sequences one after another, and back."""
    sizes = lengths(batch, length)
    ends, made = starts(sizes), single(batch, length, HEADS, STATE)
    packed = call("functional", "pack_sequence", [made], ends, sum(sizes))
    return call("functional", "unpack_sequence", packed, ends, batch, length)


def functions(batch: int, length: int) -> object:
    """A norm with its residual, a gate, a softmax and the loss of all tokens."""
    tokens = batch * length
    call(
        "functional", "fused_residual_add_rmsnorm", single(tokens, HIDDEN), single(tokens, HIDDEN), single(HIDDEN), 1e-5
    )
    call("functional", "rmsnorm", single(tokens, HIDDEN), single(HIDDEN), 1e-5)
    call("functional", "swiglu", single(tokens, HIDDEN), single(tokens, HIDDEN))
    call("functional", "p_norm", single(tokens, HIDDEN))
    call("functional", "softmax", single(tokens, HIDDEN))
    target = torch.zeros(tokens, device=DEVICE, dtype=torch.int64)
    return call("functional", "cross_entropy", single(tokens, VOCABULARY), target)


OPERATORS = {
    "recurrent": recurrent,
    "recurrent-packed": recurrent_packed,
    "matrix-state": matrix_state,
    "linear-attention": linear_attention,
    "pack": pack,
    "functions": functions,
}

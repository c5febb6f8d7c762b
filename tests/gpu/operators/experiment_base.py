"""experiment-base's memories that tokens write and read, linear attention, state space and quaternions."""

from __future__ import annotations

import importlib
from typing import Any

from tests.gpu.operators.tensors import HEAD, HEADS, HIDDEN, normal, plain

REPOSITORY = "CarbonNeuron/experiment-base"
COMMIT = "015cd13829e3d65941cb7730539f50035506ea9a"
BARE = ("multigrid", "models")
KEY, MEMORY, WRITERS, SLOTS = 16, 32, 3, 8
# The states of all steps are kept.
SHAPES = ((1, 1), (2, 16), (3, 33), (5, 100), (6, 127), (7, 200), (1, 300), (2, 512))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def memory(batch: int, length: int, module: str, name: str, **more: object) -> object:
    """What each token reads from a memory of a few slots, into which some write."""
    written = [normal(batch, WRITERS, length, *width) for width in ((MEMORY,), (KEY,), ())]
    return call(f"multigrid.{module}", name, normal(batch, length, KEY), *written, SLOTS, 1.0, **more)


def softmax_memory(batch: int, length: int) -> object:
    """Writers share the slots, forward and backward."""
    return memory(batch, length, "triton_memory", "fused_softmax_memory")


def hard_memory(batch: int, length: int) -> object:
    """Writers replace a slot, as where nothing is learned."""
    written = [plain(batch, WRITERS, length, *width) for width in ((MEMORY,), (KEY,), ())]
    made = plain(batch, length, KEY), *written, SLOTS, 1.0
    return call("multigrid.triton_memory", "fused_softmax_memory", *made, hard_overwrite=True)


def factorized_memory(batch: int, length: int) -> object:
    """Schedule, states and reads one after another, forward and backward."""
    return memory(batch, length, "triton_factorized_memory", "factorized_softmax_memory")


def factorized_read(batch: int, length: int) -> object:
    """Schedule, states and reads where nothing is learned."""
    written = [plain(batch, WRITERS, length, *width) for width in ((MEMORY,), (KEY,), ())]
    made = plain(batch, length, KEY), *written, SLOTS, 1.0
    return call("multigrid.triton_factorized_memory", "factorized_memory_forward", *made)


def linear_attention(batch: int, length: int) -> object:
    """Linear attention whose states decay, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
    return call("multigrid.triton_linear_attention", "fused_linear_attention", *made, normal(batch, HEADS, length))


def linear_attention_alone(batch: int, length: int) -> object:
    """Linear attention where nothing is learned."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(3)]
    return call("multigrid.triton_linear_attention", "fused_linear_attention", *made, plain(batch, HEADS, length))


def state_space(batch: int, length: int) -> object:
    """A state of each feature, forward and backward."""
    made = normal(batch, length, HIDDEN), normal(batch, length, HIDDEN), normal(HIDDEN)
    return call("multigrid.triton_ssm", "fused_diagonal_ssm", *made)


def state_space_alone(batch: int, length: int) -> object:
    """A state of each feature where nothing is learned."""
    made = plain(batch, length, HIDDEN), plain(batch, length, HIDDEN), plain(HIDDEN)
    return call("multigrid.triton_ssm", "fused_diagonal_ssm", *made)


def quaternions(batch: int, length: int) -> object:
    """Products of quaternions and their norm, forward and backward."""
    made = normal(batch, length, HIDDEN // 4, 4), normal(batch, length, HIDDEN // 4, 4), normal(HIDDEN // 4)
    return call("models.triton_quatspin", "fused_quat_mul_norm", *made)


OPERATORS = {
    "softmax_memory": softmax_memory,
    "hard_memory": hard_memory,
    "factorized_memory": factorized_memory,
    "factorized_read": factorized_read,
    "linear_attention": linear_attention,
    "linear_attention_alone": linear_attention_alone,
    "state_space": state_space,
    "state_space_alone": state_space_alone,
    "quaternions": quaternions,
}

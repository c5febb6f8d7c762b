"""DeepSpeed's grouped products, activation and permutation for experts."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import HIDDEN, counts, normal

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "deepspeedai/DeepSpeed"
COMMIT = "edaa7221267243c7be7fb49c5d5f5c4fb97b4641"
BARE = ("deepspeed", "deepspeed.ops", "deepspeed.moe")
EXPERTS, ALIGNMENT = 8, 8


def routed(tokens: int) -> list[int]:
    """How many tokens each expert gets: the later, the more."""
    each = [tokens * (i + 1) // 36 for i in range(EXPERTS)]
    return [*each[:-1], tokens - sum(each[:-1])]


def group_gemm(*, transposed: bool) -> Callable[[int, int], object]:
    """One product for each expert."""

    def call(batch: int, length: int) -> object:
        ends = counts(routed(batch * length)).cumsum(0).to(torch.int32)
        shape = (2 * HIDDEN, HIDDEN) if transposed else (HIDDEN, 2 * HIDDEN)
        made = normal(batch * length, HIDDEN), normal(EXPERTS, *shape), ends
        function = importlib.import_module("deepspeed.ops.triton_ops").group_gemm_triton
        return function(*made, trans_b=transposed)

    return call


def swiglu(batch: int, length: int) -> object:
    made = (normal(batch, length, HIDDEN) for _ in range(2))
    return importlib.import_module("deepspeed.ops.triton_ops").swiglu(*made)


def permute(batch: int, length: int) -> object:
    each = counts(routed(batch * length))
    longest = batch * length + EXPERTS * ALIGNMENT
    function = importlib.import_module("deepspeed.moe.ep_kernels").generate_permute_indices
    return function(each, EXPERTS, 1, longest, ALIGNMENT)


OPERATORS = {
    "group-gemm": group_gemm(transposed=False),
    "group-gemm-transposed": group_gemm(transposed=True),
    "swiglu": swiglu,
    "permute": permute,
}

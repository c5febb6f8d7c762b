"""areal's attention over a tree of tokens, its weights of eight bits, and the order of experts' tokens."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, counts, normal, plain

PACKAGE = Package("areal", "1.0.4")
BARE = (
    "areal",
    "areal.engine",
    "areal.engine.megatron_utils",
    "areal.engine.megatron_utils.fp8",
    "areal.experimental",
    "areal.experimental.models",
    "areal.experimental.models.archon",
    "areal.experimental.models.archon.moe",
    "areal.models",
    "areal.models.tree_attn",
)
EXPERTS, DEVICES = 4, 2
# Short ones: the tree is made token by token.
SHAPES_OF = {"tree": ((1, 64), (1, 128), (2, 192), (1, 256), (2, 320), (1, 448))}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"areal.{module}"), name)(*arguments, **more)


def tree(batch: int, length: int) -> object:
    """A tree of `length` tokens that is one branch, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
    parents = (torch.arange(length) - 1).expand(batch, -1).contiguous()
    module = "models.tree_attn.triton_kernel"
    held = call(module, "precompute_tree_attention_data", parents)
    keys = [one.to(DEVICE) for one in (held.packed_mask, held.kv_indices, held.kv_offsets)]
    output, largest = call(module, "tree_attention_triton", *made, *keys)
    queries = held.q_indices.to(DEVICE), held.q_offsets.to(DEVICE)
    return call(module, "tree_attention_backward", *made, output, largest, output, *keys, *queries, 0.125)


def weight(batch: int, length: int) -> object:
    """A weight to eight bits and back, whatever the batch."""
    module = "engine.megatron_utils.fp8.kernels"
    return call(module, "weight_dequant", *call(module, "blockwise_cast_to_fp8_triton", plain(HIDDEN, HIDDEN)))


def order(batch: int, length: int) -> object:
    """Where the tokens of each expert go."""
    each = batch * length // (EXPERTS * DEVICES) + 1
    made = counts([each] * EXPERTS * DEVICES), counts([each * at for at in range(EXPERTS * DEVICES)])
    offsets = counts([each * DEVICES * at for at in range(EXPERTS)])
    longest = each * EXPERTS * DEVICES
    return call(
        "experimental.models.archon.moe.kernels", "fill_indices_wrapper", *made, offsets, EXPERTS, DEVICES, longest
    )


OPERATORS = {"tree": tree, "weight": weight, "order": order}

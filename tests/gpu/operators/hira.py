"""HIRA's search for keys in trees of two and three levels, and keys that are added to one."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, plain

REPOSITORY = "UIC-InDeXLab/HIRA"
COMMIT = "6a6c9bee21478484df99a623afe0314a937dda82"
HEADS, HELD, BRANCH, BLOCK = 8, 2, 16, 16


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library, whose package is the whole checkout."""
    if "hira" not in sys.modules:
        package = ModuleType("hira")
        package.__path__ = [path for path in sys.path if Path(path).name == REPOSITORY.partition("/")[2]]
        sys.modules["hira"] = package
    return getattr(importlib.import_module(f"hira.kernels.{module}"), name)(*arguments, **more)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def keys(batch: int, length: int) -> int:
    """How many nodes have keys."""
    return -(-batch * length // BRANCH)


def two(batch: int, length: int) -> object:
    """Keys under centers."""
    many = keys(batch, length)
    tree = whole(HELD, many * BRANCH, HEAD), whole(HELD, many, HEAD), whole(HELD, many)
    asked = whole(HEADS, HEAD), whole(HEADS)
    owners = torch.arange(HEADS, device=DEVICE) // (HEADS // HELD)
    more = {"branch": BRANCH, "BLOCK_C": BLOCK, "q_head_to_kv": owners}
    return call("triton_search_wrappers", "triton_two_level_filter", *tree, *asked, **more)


def three(batch: int, length: int) -> object:
    """Keys under centers of centers."""
    many = -(-keys(batch, length) // BRANCH)
    below = whole(HELD, many * BRANCH, HEAD), whole(HELD, many * BRANCH)
    tree = whole(HELD, many * BRANCH * BRANCH, HEAD), *below, whole(HELD, many, HEAD), whole(HELD, many)
    owners = torch.arange(HEADS, device=DEVICE) // (HEADS // HELD)
    asked = whole(HEADS, HEAD), whole(HEADS)
    more = {"branch": BRANCH, "q_head_to_kv": owners}
    return call("triton_search_wrappers", "triton_three_level_filter", *tree, *asked, **more)


def update(batch: int, length: int) -> object:
    """`length` new keys to the nearest of as many centers as `batch` * `length` keys have."""
    many, new = keys(batch, length), whole(HELD, length, HEAD)
    centers, children = whole(HELD, many, HEAD), whole(HELD, many * BRANCH, HEAD)
    module = "triton_update_kernels"
    nearest, _ = call(module, "nearest_l2_triton_batched", new, centers)
    counts = torch.zeros(HELD, many, device=DEVICE, dtype=torch.int32)
    placed = call(module, "fill_existing_children_atomic_batched", new, nearest, counts, children, BRANCH)[0]
    radii = whole(HELD, many)
    return call(module, "update_parent_radii_atomic_batched_masked", new, nearest, placed, centers, radii)


OPERATORS = {"two": two, "three": three, "update": update}

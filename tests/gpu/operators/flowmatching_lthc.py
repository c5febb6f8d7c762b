"""A small workspace of an image: written, read, and what twelve layers add to it, forward and backward."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tests.gpu.operators.tensors import normal, plain

if TYPE_CHECKING:
    import torch

REPOSITORY = "tongtongliang/flowmatching_lthc"
COMMIT = "29130b4a8017e8f31c47e6de662cd912e4fbf179"
# The images have 64 x 64 places and the workspace 256: batches alone vary.
SHAPES = ((1, 64), (2, 64), (3, 64), (5, 64), (8, 64), (16, 64), (33, 64), (64, 64))
GRID, SPACE, WIDTH, PLACES, LAYERS, BEFORE = 64, 256, 384, 16, 12, 5


def call(name: str, *arguments: object) -> Any:
    """Call one of the library's operators."""
    return getattr(importlib.import_module("flowmatching_lthc.models.local_thc_triton_kernels"), name)(*arguments)


def image(batch: int) -> torch.Tensor:
    """All places of an image."""
    return normal(batch, GRID, GRID, WIDTH)


def space(batch: int) -> torch.Tensor:
    """The workspace of an image."""
    return normal(batch, SPACE, WIDTH)


def weight() -> torch.Tensor:
    """What each place of a cell counts."""
    return normal(WIDTH, PLACES)


def write(batch: int, _: int) -> object:
    """An image into its workspace."""
    return call("local_write", image(batch), weight())


def read(batch: int, _: int) -> object:
    """A workspace into its image."""
    return call("local_read", space(batch), weight())


def read_added(batch: int, _: int) -> object:
    """A workspace added to its image."""
    return call("local_read_add", space(batch), weight(), image(batch))


def traced(batch: int, _: int) -> object:
    """An image into its workspace and back, by operators that torch.compile sees."""
    kept = call("local_write_traceable", image(batch), weight())
    return call("local_read_add_traceable", kept, weight(), image(batch))


def bases(batch: int, _: int) -> object:
    """What every layer reads of an image."""
    return call("all_base_b4_12_traceable", image(batch), normal(LAYERS, WIDTH, PLACES))


def bases_apart(batch: int, _: int) -> object:
    """What every layer reads of an image, in a tensor of its own."""
    return call("all_base_b4_12_split_traceable", image(batch), normal(LAYERS, WIDTH, PLACES))


def sums(batch: int, _: int) -> object:
    """What all layers before added, from one tensor."""
    made = space(batch), normal(LAYERS, batch, SPACE, WIDTH), normal(LAYERS, WIDTH)
    return call("triangular_accumulate_traceable", *made)


def sums_apart(batch: int, _: int) -> object:
    """What all layers before added, from a tensor of each."""
    added = [space(batch) for _ in range(LAYERS)]
    return call("triangular_accumulate_b4_12_ptr_traceable", space(batch), *added, normal(LAYERS, WIDTH))


def sums_first(batch: int, _: int) -> object:
    """What the first layers added, as the sixth reads it."""
    module = importlib.import_module("flowmatching_lthc.models.local_thc_triton_kernels")
    added = [space(batch) if i < BEFORE else plain(batch, SPACE, WIDTH) for i in range(LAYERS)]
    operator = module.triangular_accumulate_b4_12_ptr_active_traceable_ops[BEFORE - 1]
    return operator(space(batch), *added, normal(LAYERS, WIDTH))


def ends(batch: int, _: int) -> object:
    """What all layers added to an image, from one tensor."""
    made = image(batch), normal(LAYERS, batch, SPACE, WIDTH), normal(LAYERS, WIDTH, PLACES)
    return call("final_accumulate_b4_traceable", *made)


def ends_apart(batch: int, _: int) -> object:
    """What all layers added to an image, from a tensor of each."""
    added, weights = [space(batch) for _ in range(LAYERS)], [weight() for _ in range(LAYERS)]
    return call("final_accumulate_b4_12_traceable", image(batch), *added, *weights)


OPERATORS = {
    "write": write,
    "read": read,
    "read_added": read_added,
    "traced": traced,
    "bases": bases,
    "bases_apart": bases_apart,
    "sums": sums,
    "sums_apart": sums_apart,
    "sums_first": sums_first,
    "ends": ends,
    "ends_apart": ends_apart,
}

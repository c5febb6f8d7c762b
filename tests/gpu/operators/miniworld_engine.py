"""MiniWorld's layers of structure prediction: the length is the number of residues."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEADS, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("miniworld-engine", "2.3.12")
UNUSED = ("jaxtyping",)
SHAPES = ((1, 32), (2, 48), (3, 64), (1, 100), (2, 127), (1, 200), (1, 177), (2, 160))
HEAD, WIDE, ROWS = 32, 128, 8


def call(module: str, name: str, *arguments: Any, **more: Any) -> Any:
    """Call a function of the library, or apply a class of it."""
    function = getattr(importlib.import_module(f"miniworld_engine.kernels.{module}"), name)
    return getattr(function, "apply", function)(*arguments, **more)


def weight(*shape: int) -> torch.Tensor:
    """A weight."""
    return normal(*shape)


def pairs(batch: int, length: int) -> torch.Tensor:
    """A vector for each pair of residues."""
    return normal(batch, length, length, WIDE)


def augmented(module: str) -> Callable[[int, int], object]:
    """Attention of several samples of a structure."""

    def run(batch: int, length: int) -> object:
        made = [normal(2, batch, length, HEADS, HEAD) for _ in range(3)]
        name = "TritonAugmentedAttentionFunction"
        return call(f"augmented_attention.triton.{module}", name, *made, normal(batch, length, length, HEADS), None)

    return run


def triangle(batch: int, length: int) -> object:
    """Attention of each row of pairs."""
    made = [normal(batch, HEADS, length, length, HEAD) for _ in range(3)]
    name = "TritonTriangleAttentionPairBiasFunction"
    return call("triangle_attention.triton.main", name, *made, normal(batch, HEADS, length, length))


def bias_only(batch: int, length: int) -> object:
    """Attention whose scores are the biases alone."""
    made = normal(batch, HEADS, length, length, HEAD), normal(batch, HEADS, length, length)
    return call("bias_only_attention.triton.main", "TritonBiasOnlyAttentionFunction", *made)


def layernorm(batch: int, length: int) -> object:
    """A norm of each pair."""
    return call("layernorm.triton.main", "triton_layernorm", pairs(batch, length), weight(WIDE), weight(WIDE), 1e-5)


def rmsnorm(batch: int, length: int) -> object:
    """Another norm."""
    return call("rmsnorm.triton.main", "triton_rmsnorm", pairs(batch, length), weight(WIDE))


def rotate(batch: int, length: int) -> object:
    """A rotation of each head by three coordinates."""
    angles = [plain(batch, length, HEAD // 2, dtype=torch.float32) for _ in range(2)]
    return call("rope.triton.main", "triton_rope_3d", normal(batch, length, HEADS, HEAD), *angles)


def left_and_right(batch: int, length: int) -> object:
    """What a triangle's product is taken of."""
    weights = [weight(WIDE, WIDE) for _ in range(4)]
    return call("tm1.triton.main", "TritonTM1Function", pairs(batch, length), *weights)


def gated_out(batch: int, length: int) -> object:
    """What becomes of a triangle's product."""
    made = pairs(batch, length), pairs(batch, length), weight(WIDE, WIDE), weight(WIDE, WIDE)
    return call("tm2.triton.main", "TritonTM2Function", *made)


def transition(batch: int, length: int) -> object:
    """A gated unit."""
    weights = weight(4 * WIDE, WIDE), weight(4 * WIDE, WIDE), weight(WIDE, 4 * WIDE)
    return call("transition.triton.main", "TritonTransitionFunction", pairs(batch, length), *weights)


def projection(batch: int, length: int) -> object:
    """A gate before a projection."""
    made = pairs(batch, length), pairs(batch, length), weight(WIDE, WIDE)
    return call("gated_projection.triton.main", "TritonGatedProjectionFunction", *made)


def gate(batch: int, length: int) -> object:
    """A gate alone."""
    return call("gated_projection.triton.main", "sigmoid_gate_fused", pairs(batch, length), pairs(batch, length))


def outer_product(batch: int, length: int) -> object:
    """The mean of products over an alignment."""
    mask = torch.ones(batch, ROWS, length, device=DEVICE, dtype=torch.bool)
    made = normal(batch, ROWS, length, 64), mask, weight(64), weight(64), weight(32, 64), weight(32, 64)
    return call("outer_product_mean.triton.main", "triton_outer_product_mean", *made, weight(WIDE, 1024), weight(WIDE))


def averaging(batch: int, length: int) -> object:
    """An alignment averaged by its pairs."""
    mask = torch.ones(batch, length, device=DEVICE, dtype=torch.bool)
    made = [normal(batch, ROWS, length, 64), pairs(batch, length), mask, weight(64), weight(64)]
    made += [weight(HEADS * HEAD, 64), weight(HEADS * HEAD, 64), weight(WIDE)]
    made += [weight(HEADS, WIDE), weight(64, HEADS * HEAD)]
    return call("pair_weighted_averaging.triton.main", "triton_pair_weighted_averaging", *made)


def adaptive(batch: int, length: int) -> object:
    """A norm whose scale comes from elsewhere."""
    made = normal(batch, length, WIDE), normal(batch, length, WIDE), weight(WIDE)
    weights = weight(WIDE, WIDE), weight(WIDE), weight(WIDE, WIDE)
    return call("adaln.triton.training", "adaln_train", *made, *weights, 1e-5, 1e-5)


OPERATORS = {
    "augmented": augmented("main"),
    "augmented-lean": augmented("memory_efficient"),
    "triangle": triangle,
    "bias-only": bias_only,
    "layernorm": layernorm,
    "rmsnorm": rmsnorm,
    "rotate": rotate,
    "left-and-right": left_and_right,
    "gated-out": gated_out,
    "transition": transition,
    "projection": projection,
    "gate": gate,
    "outer-product": outer_product,
    "averaging": averaging,
    "adaptive": adaptive,
}

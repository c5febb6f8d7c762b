"""comfy-kitchen's layers of diffusion models: norms, rotations, neighborhood attention and quantized products."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("comfy-kitchen", "0.2.40")
BARE = (
    "comfy_kitchen",
    "comfy_kitchen.backends",
    "comfy_kitchen.backends.triton",
    "comfy_kitchen.backends.eager",
    "comfy_kitchen.tensor",
)
WIDE = 256
# The frames of a video; each is eight high and sixteen wide.
FRAMES = ((1, 1), (2, 2), (1, 3), (3, 5), (1, 9), (2, 13), (1, 17), (2, 21))
SHAPES_OF = {"neighbors": FRAMES}


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"comfy_kitchen.backends.triton.{module}"), name)(*arguments)


def modulated(name: str) -> Callable[[int, int], object]:
    """A norm with one shift and scale for each image."""

    def run(batch: int, length: int) -> object:
        return call("adaln", name, plain(batch, length, HIDDEN), plain(batch, 1, HIDDEN), plain(batch, 1, HIDDEN))

    return run


def neighbors(batch: int, length: int) -> object:
    """Attention to the neighbors in `length` frames."""
    return call("na", "na3d", *(plain(batch, length, 8, 16, HEADS, HEAD) for _ in range(3)), [3, 5, 5])


def rotations(length: int) -> torch.Tensor:
    """A rotation for each token."""
    return plain(1, 1, length, HEAD // 2, 2, 2, dtype=torch.float32)


def rotate(name: str) -> Callable[[int, int], object]:
    """Queries and keys rotated."""

    def run(batch: int, length: int) -> object:
        return call("rope", name, *(plain(batch, HEADS, length, HEAD) for _ in range(2)), rotations(length))

    return run


def norm_rotate(batch: int, length: int) -> object:
    """Queries and keys normed and rotated."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(2)]
    return call("rms_rope", "rms_rope", *made, rotations(length), plain(HEAD), plain(HEAD))


def eight_bits(batch: int, length: int) -> object:
    """Tokens to eight bits by one scale, and back."""
    one = torch.ones(1, device=DEVICE)
    codes = call("quantization", "quantize_per_tensor_fp8", plain(batch, length, HIDDEN), one)
    return call("quantization", "dequantize_per_tensor_fp8", codes, one)


def four_bits(batch: int, length: int) -> object:
    """Tokens to four bits; rows padded to sixteen."""
    one = torch.ones(1, device=DEVICE)
    return call("quantization", "quantize_nvfp4", plain(batch * length, HIDDEN), one, 0.0, True)


def shared_exponents(batch: int, length: int) -> object:
    """Tokens to eight bits with shared exponents; rows padded to thirty-two."""
    return call("quantization", "quantize_mxfp8", plain(batch * length, HIDDEN), True)


def product(batch: int, length: int) -> object:
    """Tokens against a weight of eight bits, with a scale for each row, then for all."""
    weight = torch.randint(-8, 8, (WIDE, HIDDEN), device=DEVICE, dtype=torch.int8)
    tokens = plain(batch, length, HIDDEN)
    call("quantization", "int8_linear", tokens, weight, plain(WIDE, 1, dtype=torch.float32))
    return call("quantization", "int8_linear", tokens, weight, plain(1, dtype=torch.float32))


OPERATORS = {
    "norm": modulated("adaln"),
    "rms-norm": modulated("rms_adaln"),
    "neighbors": neighbors,
    "rotate": rotate("apply_rope"),
    "rotate-halves": rotate("apply_rope_split_half"),
    "norm-rotate": norm_rotate,
    "eight-bits": eight_bits,
    "four-bits": four_bits,
    "shared-exponents": shared_exponents,
    "product": product,
}

"""The exercises of nano-triton-kernel: vectors, matrices, images, sums, losses and norms."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import ANY, DEVICE, HIDDEN, VOCABULARY, plain

REPOSITORY = "JackeyLove1/nano-triton-kernel"
COMMIT = "4a31eb4ee017b19c3b6618a5eef1986296437978"
UNUSED = ("tabulate",)
WIDE, TALL, TAPS = 1024, 16, 9
SHAPES_OF = {"windows": ANY[2:]}


def solve(exercise: str, *arguments: object, name: str = "solve") -> Any:
    """Call the solution of an exercise."""
    return getattr(importlib.import_module(exercise), name)(*arguments)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def numbers(*shape: int) -> torch.Tensor:
    """Whole numbers."""
    return torch.zeros(shape, device=DEVICE, dtype=torch.int32)


def activations(batch: int, length: int) -> object:
    """Activations of all tokens."""
    many = batch * length * HIDDEN
    solve("basic.14_silu", whole(batch, length, HIDDEN), name="silu_triton")
    solve("basic.15_swiglu", whole(2 * many), whole(many), 2 * many)
    for exercise in ("basic.8_relu", "basic.9_leaky_relu"):
        solve(exercise, whole(many), whole(many), many)
    return None


def dropped(batch: int, length: int) -> object:
    """Some of all tokens' features."""
    return solve("high.3_seed_dropout", whole(batch * length * HIDDEN), 0.5, 7, name="seed_dropout")


def moved(batch: int, length: int) -> object:
    """Tokens in other places."""
    rows = batch * length
    solve("basic.7_reverse_array", whole(rows * HIDDEN), rows * HIDDEN)
    return solve("basic.4_matrix_transpose", whole(rows, HIDDEN), whole(HIDDEN, rows), rows, HIDDEN, name="solve_1d")


def images(batch: int, length: int) -> object:
    """Images of TALL rows and `length` columns, inverted."""
    made = torch.zeros(batch * TALL * length * 4, device=DEVICE, dtype=torch.uint8)
    return solve("basic.5_color_inversion", made, batch * length, TALL)


def products(batch: int, length: int) -> object:
    """Tokens times a layer, in several ways."""
    rows = batch * length
    made = whole(rows, HIDDEN), whole(HIDDEN, WIDE)
    for name in ("solve_1", "solve"):
        solve("basic.16_matmul", *made, whole(rows, WIDE), rows, WIDE, HIDDEN, name=name)
    solve("high.2_matmul", *(x.half() for x in made), name="matmul")
    return solve("medium.10_gemm", *(x.half() for x in made), whole(rows, WIDE).half(), rows, WIDE, HIDDEN, 1.0, 0.5)


def convolution(batch: int, length: int) -> object:
    """A convolution of a sequence."""
    many = batch * length + TAPS
    for name in ("solve_1", "solve_2"):
        solve("basic.6_1d_convolution", whole(many), whole(TAPS), whole(many - TAPS + 1), many, TAPS, name=name)
    return None


def sums(batch: int, length: int) -> object:
    """Sums of all numbers and of parts of them, in one, two and three dimensions."""
    rows = batch * length
    solve("medium.1_reduction", whole(rows * HIDDEN), name="reduce_sum")
    solve("medium.16_1D_subarray_sum", numbers(rows), numbers(1), rows, 0, rows - 1)
    solve("medium.15_2D_subarray_sum", numbers(rows, WIDE), numbers(1), rows, WIDE, 0, rows - 1, 0, 99)
    made = numbers(batch, length, WIDE), numbers(1), batch, length, WIDE
    return solve("medium.17_3D_subarray_sum", *made, 0, batch - 1, 0, length - 1, 0, 99)


def counted(batch: int, length: int) -> object:
    """How many numbers are a certain one."""
    solve("basic.12_count_array_elements", numbers(batch * length), numbers(1), batch * length, 3)
    return solve("medium.18_count_3D_element", numbers(batch, length, WIDE), numbers(1), batch, length, WIDE, 3)


def windows(batch: int, length: int) -> object:
    """The largest sum of a part of a sequence."""
    return solve("medium.14_max_subarray_sum", numbers(batch * length), numbers(1), batch * length, 64)


def losses(batch: int, length: int) -> object:
    """The loss of all tokens, and the mean of squared differences."""
    rows = batch * length
    solve("medium.12_mse", whole(rows), whole(rows), whole(1), rows)
    made = whole(rows, VOCABULARY), torch.zeros(rows, device=DEVICE, dtype=torch.int32), whole(1)
    return solve("medium.11_categorical_cross_entropy_loss", *made, rows, VOCABULARY)


def softmax(batch: int, length: int) -> object:
    """A softmax of one long sequence."""
    return solve("medium.2_safe_softmax", whole(batch * length), name="softmax_triton")


def norm(batch: int, length: int) -> object:
    """A norm of one long sequence."""
    return solve("medium.19_RMS_Norm", whole(batch * length), name="rms_norm")


OPERATORS = {
    "activations": activations,
    "dropped": dropped,
    "moved": moved,
    "images": images,
    "products": products,
    "convolution": convolution,
    "sums": sums,
    "counted": counted,
    "windows": windows,
    "losses": losses,
    "softmax": softmax,
    "norm": norm,
}

"""A global that is a plain number."""

import torch
import triton
import triton.language as tl

FACTOR = 2


@triton.jit
def scale(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, FACTOR * tl.load(x_ptr + at))


scale[(1,)](torch.ones(64), BLOCK=64)

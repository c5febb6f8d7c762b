"""A global that is a plain tuple of numbers, which the kernel indexes."""

import torch
import triton
import triton.language as tl

FACTORS = (2, 3)


@triton.jit
def scale(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, FACTORS[1] * tl.load(x_ptr + at))


scale[(1,)](torch.ones(64), BLOCK=64)

"""A global constexpr that is assigned again between two launches."""

import torch
import triton
import triton.language as tl

FACTOR = tl.constexpr(2)


@triton.jit
def scale(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, FACTOR * tl.load(x_ptr + at))


def choose(factor):
    global FACTOR
    FACTOR = tl.constexpr(factor)


scale[(1,)](torch.ones(64), BLOCK=64)
choose(3)
scale[(1,)](torch.ones(64), BLOCK=64)

"""A key that names no parameter, and two sizes: how many times the kernel is tuned."""

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["N"])
@triton.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1, mask=at < n)


x = torch.ones(64)
fill[(1,)](x, 17)
fill[(1,)](x, 33)
said = len(fill.cache)

"""A constexpr that is listed as not to be specialized on, with three values."""

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def fill(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1, mask=at < n)


x = torch.ones(64)
for n in (10, 20, 30):
    fill[(1,)](x, n, BLOCK=64)

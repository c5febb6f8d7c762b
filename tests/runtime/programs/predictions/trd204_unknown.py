"""A misspelt name in the list: the count that was meant is specialized on."""

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["m"])
def fill(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1, mask=at < n)


x = torch.ones(64)
for n in (1, 16, 17):
    fill[(1,)](x, n, BLOCK=64)

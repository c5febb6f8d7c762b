"""Two constexprs that follow one length, with three values: dropping one leaves three kernels."""

import torch
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n: tl.constexpr, half: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for i in tl.static_range(half):
        tl.store(x_ptr + at, i, mask=at < n)


x = torch.ones(64)


def serve(requests):
    n = len(requests)
    fill[(1,)](x, n, triton.cdiv(n, 2), BLOCK=64)


for count in (10, 20, 30):
    serve([None] * count)

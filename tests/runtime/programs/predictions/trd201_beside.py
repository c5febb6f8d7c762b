"""Two constexprs with three values each, of which nothing shows that they change together."""

import torch
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n: tl.constexpr, m: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, m % 7, mask=at < n)


x = torch.ones(64)


def serve(requests, frames):
    fill[(1,)](x, len(requests), len(frames), BLOCK=64)


for count in (10, 20, 30):
    serve([None] * count, [None] * (count + 3))

"""A block that holds all requests, of four sizes."""

import torch
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1, mask=at < n)


x = torch.ones(4096)


def serve(requests):
    n = len(requests)
    block = triton.next_power_of_2(n)
    fill[(1,)](x, n, BLOCK=block)


for count in (48, 96, 192, 384):
    serve([None] * count)

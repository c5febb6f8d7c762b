"""A view that begins at any element of a flat tensor."""

import torch
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1)


def serve(requests):
    flat = torch.zeros(256)
    fill[(1,)](flat[len(requests) :], BLOCK=64)


for count in (1, 2, 3, 4, 8, 13, 16, 40, 41):
    serve([None] * count)

"""A key that holds the number of requests, of four values: how many times the kernel is tuned."""

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1, mask=at < n)


x = torch.ones(64)


def serve(requests):
    fill[(2,)](x, len(requests))


for count in (17, 33, 40, 50):
    serve([None] * count)
said = len(fill.cache)

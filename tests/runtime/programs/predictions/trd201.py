"""A constexpr that only the autotune key needs, with three values: how many times the kernel is tuned."""

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["count"])
@triton.jit
def fill(x_ptr, n, count: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1, mask=at < n)


x = torch.ones(64)


def serve(mask):
    fill[(1,)](x, 64, int(mask.sum().item()))


for count in (17, 33, 50):
    serve(torch.arange(64) < count)
said = len(fill.cache)

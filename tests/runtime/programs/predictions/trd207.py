"""Stages that follow the number of requests, three times, then one kernel in two spellings."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def negate(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, -tl.load(x_ptr + at))


x = torch.ones(64)


def serve(requests):
    copy[(1,)](x, x, BLOCK=64, num_stages=len(requests))


for count in (1, 2, 5):
    serve([None] * count)
negate[(1,)](x, x, BLOCK=64)
negate[(1,)](x, x, BLOCK=64, num_warps=4)

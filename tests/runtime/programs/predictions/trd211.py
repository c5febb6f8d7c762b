"""Eight warps, by position, by default and in a config: how many the kernels have."""

import torch
import triton
import triton.language as tl


@triton.jit
def by_position(x_ptr, BLOCK: tl.constexpr, num_warps: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1)


@triton.jit
def by_default(x_ptr, BLOCK: tl.constexpr, num_warps: tl.constexpr = 8):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1)


@triton.autotune(configs=[triton.Config({"BLOCK": 64, "num_warps": 8})], key=[])
@triton.jit
def by_config(x_ptr, BLOCK: tl.constexpr, num_warps: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1)


x = torch.ones(64)
kernels = [by_position[(1,)](x, 64, 8), by_default[(1,)](x, 64), by_config[(1,)](x)]
said = [kernel.metadata.num_warps for kernel in kernels]

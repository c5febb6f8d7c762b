"""Two kernels of which one is launched, under interpreter mode (`TRITON_INTERPRET=1`)."""

import torch
import triton
import triton.language as tl
from where import DEVICE, recorded


@triton.jit
def double(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets))


@triton.jit
def halve(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) / 2)


x = torch.ones(16, device=DEVICE)
with recorded():
    for _ in range(3):
        double[(1,)](x, BLOCK=16)
print(x.tolist())

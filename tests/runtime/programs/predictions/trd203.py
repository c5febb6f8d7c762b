"""One factor as a whole number and as a float: what the second kernel multiplies by."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, (FACTOR * tl.load(x_ptr + at)).to(tl.int32))


x = torch.ones(64, dtype=torch.int32)
whole = scale[(1,)](x, FACTOR=2, BLOCK=64)
fraction = scale[(1,)](x, FACTOR=2.0, BLOCK=64)
said = "floats" if "mulf" in fraction.asm["ttir"] else "integers"

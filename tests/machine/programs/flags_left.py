"""Leaves in the cache variants of a kernel whose constexprs are compiled into nothing: one unread, one of a branch."""

import triton
import triton.language as tl
from triton.runtime.jit import MockTensor

from triton_doctor.runtime.compile_target import activate

activate("cuda:90")


@triton.jit
def negate(x_ptr, bs: tl.constexpr, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if FLAG:
        x = -x
    tl.store(x_ptr + offsets, x)


x = MockTensor("float32")
for bs in range(2, 5):
    for flag in (False, True):
        negate[(1,)](x, bs, flag, BLOCK=64)
# A 1 that is compiled in shifts the arguments after it, which have no names until Triton 3.5.


@triton.jit
def fill(n, x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), n)


for n in (1, 7):
    fill[(1,)](n, x, BLOCK=64)

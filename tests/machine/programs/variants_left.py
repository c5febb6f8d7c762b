"""Leaves in the cache variants of a kernel that differ in a type, an option, a divisibility and a product."""

import triton
import triton.language as tl
from triton.runtime.jit import MockTensor

from triton_doctor.runtime.compile_target import activate

activate("cuda:90")


def make_kernel():
    @triton.jit
    def scale(x_ptr, n, TILES: tl.constexpr, WIDTH: tl.constexpr, TWICE: tl.constexpr):
        columns = tl.program_id(0) * (TILES * WIDTH) + tl.arange(0, WIDTH)
        x = tl.load(x_ptr + columns, mask=columns < n)
        if TWICE:
            x = x * 2
        tl.store(x_ptr + columns, x, mask=columns < n)

    return scale


scale = make_kernel()
x = MockTensor("float32")
for tiles in (3, 5, 7):
    scale[(1,)](x, 1024, TILES=tiles, WIDTH=64, TWICE=False)
scale[(1,)](x, 1000, TILES=3, WIDTH=64, TWICE=False)
scale[(1,)](x, 1024, TILES=3, WIDTH=64, TWICE=False, num_warps=8)
scale[(1,)](MockTensor("float16"), 1024, TILES=3, WIDTH=64, TWICE=True)

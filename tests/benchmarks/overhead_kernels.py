"""The kernels of overhead.py: triton reads kernels from a file."""

import triton
import triton.language as tl


def body(x_ptr, y_ptr, out_ptr, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y + VALUE, mask=inside)


def make_kernel():
    return triton.jit(body)


add = make_kernel()
tuned_add = triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])(
    make_kernel()
)

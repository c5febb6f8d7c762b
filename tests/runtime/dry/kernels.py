"""Kernels that the tests of dry runs launch. Imported inside of a test: nothing heavy is imported to collect them."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * factor, mask=mask)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def tuned_scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def write_first(out_ptr, value):
    tl.store(out_ptr, value)


@triton.jit
def read_and_write(x_ptr, table_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    where = tl.load(table_ptr + offsets, mask=offsets < n)
    target = out_ptr + where
    tl.store(target, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def write_by_helper(x_ptr, out_ptr, n):
    value = tl.load(x_ptr)
    write_first(out_ptr, value)


class Scale(torch.autograd.Function):
    """`x` times a factor, by a kernel forward and backward."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return launch_scale(x, factor)

    @staticmethod
    def backward(ctx, gradient):
        return launch_scale(gradient, ctx.factor), None


def launch_scale(x, factor=2.0, block=None):
    """Launch `scale` over all of `x`; `block` is 1,024 elements at the most."""
    out = torch.empty_like(x)
    n = x.numel()
    block = block or min(1024, triton.next_power_of_2(n))
    scale[(triton.cdiv(n, block),)](x, out, n, factor, BLOCK=block)
    return out


def launch_tuned(x):
    """Launch `tuned_scale` over all of `x`."""
    out = torch.empty_like(x)
    tuned_scale[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out

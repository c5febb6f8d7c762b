"""Operators with a kernel each, whose keys follow the sizes in ways that are known."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows(x_ptr, n_rows, rows_per_program: tl.constexpr, BLOCK: tl.constexpr):
    for row in range(rows_per_program):
        offsets = row * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets), mask=offsets < n_rows)


def normalize(batch, length, hidden=64):
    """Compiles for each number of rows, a power of two of `hidden`."""
    x = torch.empty(batch, length, hidden, device="cuda")
    rows = batch * length
    block = min(triton.next_power_of_2(hidden), 1024)
    scale_rows[(132,)](x, rows, rows_per_program=triton.cdiv(rows, 132), BLOCK=block)
    return x


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["T"])
@triton.jit
def copy_blocks(x_ptr, T, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < T), mask=offsets < T)


def copy(length):
    """Tunes for each length, and compiles apart what is longer than 1,000."""
    x = torch.empty(length, device="cuda")
    copy_blocks[(8,)](x, length, WIDE=length > 1000)


class Cached(triton.runtime.jit.KernelInterface):
    """As libraries have it: keeps the compiled kernel of each key, and launches that."""

    def __init__(self, fn):
        self.fn = fn
        self.kernels = {}

    def run(self, *args, grid, **kwargs):
        key = tuple(value for value in (*args, *kwargs.values()) if isinstance(value, int))
        if key not in self.kernels:
            self.kernels[key] = self.fn.run(*args, grid=grid, **kwargs)
        return self.kernels[key]


@Cached
@triton.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 0.0, mask=offsets < n)


def fill_zeros(batch, length):
    """Launches by a wrapper with a cache of its own."""
    x = torch.empty(length, device="cuda")
    fill[(batch,)](x, length, BLOCK=triton.next_power_of_2(length))  # the launch


class Doubled(torch.autograd.Function):
    """Launches in backward alone."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        scale_rows[(1,)](gradient, gradient.numel(), rows_per_program=gradient.shape[0], BLOCK=16)
        return gradient


def double(batch):
    """Wants its backward."""
    return Doubled.apply(torch.ones(batch, 4, device="cuda", requires_grad=True))


class Refused(Doubled):
    """Its backward does not work."""

    @staticmethod
    def forward(ctx, x):
        scale_rows[(1,)](x, x.numel(), rows_per_program=x.shape[0], BLOCK=16)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        raise RuntimeError("no backward here")


def refuse_backward(batch):
    """Works forward alone."""
    return Refused.apply(torch.ones(batch, 4, device="cuda", requires_grad=True))


def keep_or_copy(length):
    """Launches for long lengths alone."""
    if length > 300:
        copy(length)
    else:
        normalize(1, length)


def interleave(batch, heads):
    """Compiles for each product of a size of the call and one of the model."""
    x = torch.empty(batch, heads, device="cuda")
    scale_rows[(1,)](x, 7, rows_per_program=batch * heads, BLOCK=16)


def refuse_odd(length):
    """Raises for odd lengths."""
    if length % 2:
        raise ValueError(f"{length} is odd")
    return normalize(1, length)


def fail(length):
    """Raises for all."""
    raise ValueError("never works")


def switch(length):
    """Has a variant that few lengths need."""
    x = torch.empty(4, device="cuda")
    scale_rows[(1,)](x, 7, rows_per_program=99 if 2271 <= length < 2274 else 1, BLOCK=16)

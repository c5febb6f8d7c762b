"""Kernels to launch, made anew for each test that wants an empty cache in memory."""

import enum

import triton
import triton.language as tl


class Mode(enum.Enum):
    FAST = 1
    SAFE = 2


def _copy(x_ptr, out_ptr, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside), mask=inside)


def _tune(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside), mask=inside)


def _break(x_ptr, out_ptr, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 0)
    tl.store(x_ptr + tl.arange(0, BLOCK), 0)


def _devour(x_ptr, out_ptr, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    # Each stage of the loop's pipeline keeps two blocks in shared memory.
    tile = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(n):
        total = tl.dot(tl.load(x_ptr + start * BLOCK + tile), tl.load(out_ptr + start * BLOCK + tile), total)
    tl.store(out_ptr + tile, total)


def copy():
    return triton.jit(_copy)


def broken():
    return triton.jit(_break)


def hungry():
    return triton.jit(_devour)


def tuned(**options):
    configs = [triton.Config({"BLOCK": block}) for block in (64, 128, 256)]
    return triton.autotune(configs=configs, key=["n"], **options)(triton.jit(_tune))


def launch(kernel, x, n=1000, value=0, block=64, **options):
    return kernel[(1,)](x, x, n, VALUE=value, BLOCK=block, **options)

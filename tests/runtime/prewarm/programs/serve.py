"""A script with kernels as real ones have them: tuned, with heuristics, below a guard, made by a function, of dtypes.

Run under the compile-only target, on tensors of the CPU. Without `go` it ends at once, as a server without arguments.
"""

import sys

import torch
import triton
import triton.language as tl

if len(sys.argv) < 2 or sys.argv[1] != "go":
    sys.exit("this is the work of the script, and prewarming must not do it")

SCALE = tl.constexpr(3)
CONFIGS = []
for block in (64, 128):
    CONFIGS.append(triton.Config({"BLOCK": block}, num_warps=2))  # noqa: PERF401, as scripts do it
x = torch.ones(4096)  # named as a variable of the kernels


@triton.jit
def scaled(x, FACTOR: tl.constexpr):
    return x * FACTOR * SCALE


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 128 == 0})
@triton.jit
def tuned(x_ptr, n, EVEN: tl.constexpr, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, scaled(x.to(DTYPE), 2), mask=at < n)


def make_kernel(extra):
    @triton.jit
    def made(x_ptr, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + n, mask=at < n)

    return made


if __name__ == "__main__":
    print("working")

    @triton.jit
    def guarded(x_ptr, y_ptr, n, strides, OPTIONAL: tl.constexpr, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at * strides[0], mask=at < n)
        if y_ptr is not None:
            tl.store(y_ptr + at * strides[1], x, mask=at < n)

    for n in (128, 100):
        tuned[(1,)](x, n, DTYPE=tl.float32)
    if "tuples" in sys.argv:
        guarded[(1,)](x, x, 17, (1, 16), OPTIONAL=None, BLOCK=64)
        guarded[(1,)](x[1:], None, 17, (16, 4), OPTIONAL=("a", 2), BLOCK=64, num_warps=8)
    if "made" in sys.argv:
        make_kernel(1)[(1,)](x, 100, BLOCK=64)

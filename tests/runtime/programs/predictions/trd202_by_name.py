"""A constexpr that the kernel never reads and the estimate of its configs takes by name, with three values."""

import torch
import triton
import triton.language as tl


def estimate(total, BLOCK, **kwargs):
    return total / BLOCK


@triton.autotune(
    configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})],
    key=[],
    prune_configs_by={"perf_model": estimate, "top_k": 1},
)
@triton.jit
def fill(x_ptr, n, total: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1, mask=at < n)


x = torch.ones(64)


def serve(requests):
    fill[(1,)](x, 64, total=len(requests))


for count in (10, 20, 30):
    serve([None] * count)

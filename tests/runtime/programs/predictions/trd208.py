"""Two counts, each as 1, as multiples of 16 and as others."""

import torch
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n_rows, n_tokens, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1, mask=at < n_rows * n_tokens)


x = torch.ones(64)


def serve(requests, tokens):
    fill[(1,)](x, len(requests), len(tokens), BLOCK=64)


COUNTS = (1, 2, 7, 15, 16, 17, 32, 33, 48)
for rows in COUNTS:
    for length in COUNTS:
        serve([None] * rows, [None] * length)

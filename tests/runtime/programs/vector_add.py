"""One vector add, launched 18 times: 9 keys that compile, 4 that are found on disk, 5 that are in memory."""

import torch
import triton
import triton.language as tl
from where import DEVICE, recorded


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


x, y, out = (torch.zeros(4096, device=DEVICE) for _ in range(3))


def launch(n=1000, block=256, left=x, **options):
    add_kernel[(1,)](left, y, out, n, BLOCK=block, **options)


with recorded():
    for n in (1000, 1001, 1024, 2048, 0, 1, 2**31):
        launch(n)
    launch(True)
    launch(block=512)
    launch(left=x[1:])
    launch(left=x[4:])
    launch(left=x.half())
    launch(num_warps=4)
    launch(num_stages=3)
    launch(num_warps=4, num_stages=3)
    launch(num_stages=3, num_warps=4)
    launch(num_warps=8)
    launch()

"""Ranks that exchange sums; each has lengths of its own, so that one compiles more than the other.

For torchrun. With an argument, the device: `cpu` on the compile-only target.
"""

import sys

import torch
import torch.distributed as dist
import triton
import triton.language as tl


@triton.jit
def fill_kernel(out_ptr, length: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, 1.0, mask=offsets < length)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    device = torch.device(sys.argv[1] if len(sys.argv) > 1 else f"cuda:{rank % torch.cuda.device_count()}")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    for step in range(20):
        out = torch.zeros(64, device=device)
        fill_kernel[(1,)](out, 16 + step % (2 + 3 * rank), BLOCK=64)
        total = out.sum().cpu()
        dist.all_reduce(total)
    print(f"rank {rank}: {total.item():.0f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

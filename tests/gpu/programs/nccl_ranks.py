"""Two ranks that all-reduce each step; rank 1 meets more lengths, and each rank times the collective itself.

For torchrun: `nccl_ranks.py train`, or `slow`, where rank 1 compiles a kernel of `--unroll` statements while rank 0
waits. Alone: `devices` launches one kernel on both GPUs, `compile` compiles that of `slow`. `--backend gloo --device
cpu` runs on the compile-only target.
"""

import argparse
import datetime
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import triton
import triton.language as tl

import triton_doctor

WIDTH, BLOCK = 256, 64
# Between two steps in which a rank may compile are two that tell how long a quiet step takes.
PERIOD = 3


@triton.jit
def rms_norm_kernel(x_ptr, out_ptr, width, eps, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, WIDTH)
    x = tl.load(x_ptr + row * width + offsets, mask=offsets < width, other=0.0)
    tl.store(out_ptr + row * width + offsets, x * tl.rsqrt(tl.sum(x * x) / width + eps), mask=offsets < width)


@triton.jit
def ragged_kernel(x_ptr, out_ptr, length: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in tl.static_range(length):
        total += tl.load(x_ptr + i * BLOCK + offsets) * (i + 1)
    tl.store(out_ptr + offsets, total)


@triton.jit
def slow_kernel(x_ptr, out_ptr, UNROLL: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    for i in tl.static_range(UNROLL):
        x = tl.where(x > i, x * 1.5 + i, tl.exp(x) - i)
    tl.store(out_ptr + offsets, x)


def read_length(step, rank):
    """Rank 0 alternates between two lengths; rank 1 has a length of its own each time it may compile."""
    return 32 + step // PERIOD % 2 if rank == 0 or step % PERIOD else 32 + step // PERIOD


def layers(x, device):
    """Two norms: Liger's where it is installed, else the one above."""
    if device.type == "cuda":
        try:
            from liger_kernel.ops.rms_norm import LigerRMSNormFunction

            return LigerRMSNormFunction.apply(x, torch.ones(WIDTH, device=device), 1e-6)
        except ImportError:
            pass
    out = torch.empty_like(x)
    rms_norm_kernel[(x.shape[0],)](x, out, x.shape[1], 1e-6, WIDTH=WIDTH)
    return out


def all_reduce(total, device):
    """Sum `total` over the ranks, and wait for it; milliseconds by the host, and by events on the stream."""
    is_gpu = device.type == "cuda"
    if is_gpu:
        torch.cuda.synchronize()
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
    began = time.perf_counter()
    dist.all_reduce(total)
    if is_gpu:
        after.record()
        torch.cuda.synchronize()
    host_ms = 1000 * (time.perf_counter() - began)
    return host_ms, before.elapsed_time(after) if is_gpu else host_ms


def train(arguments, rank, device):
    """One line for each step: how long this rank was in the collective."""
    torch.manual_seed(0)
    x = torch.ones(64, WIDTH, device=device)
    source, out = torch.ones(128 * BLOCK, device=device), torch.empty(BLOCK, device=device)
    times = []
    for step in range(1, arguments.steps + 1):
        normal = layers(x, device)
        if arguments.mode == "slow" and step == arguments.steps // 2 and rank == 1:
            slow_kernel[(1,)](source, out, UNROLL=arguments.unroll, BLOCK=BLOCK)
        ragged_kernel[(1,)](source, out, read_length(step, rank), BLOCK=BLOCK)
        # On the compile-only target memory holds nothing of use, so the sum is of what torch made.
        total = (normal if device.type == "cuda" else x).sum().reshape(1)
        host_ms, device_ms = all_reduce(total, device)
        times.append({"step": step, "host_ms": host_ms, "device_ms": device_ms})
        print(f"rank {rank} step {step}: in the collective {host_ms:.1f} ms, {device_ms:.1f} ms by events", flush=True)
        triton_doctor.step(step)
    if arguments.times:
        (arguments.times / f"rank{rank}.json").write_text(json.dumps(times))


def launch_on_devices():
    """The same kernel on each GPU, and again: from the compiler or disk first, then from memory."""
    for turn in range(2):
        for number in range(torch.cuda.device_count()):
            with torch.cuda.device(number):
                source = torch.ones(128 * BLOCK, device=f"cuda:{number}")
                out = torch.empty(BLOCK, device=f"cuda:{number}")
                torch.cuda.synchronize()
                began = time.perf_counter()
                ragged_kernel[(1,)](source, out, 32, BLOCK=BLOCK)
                print(f"turn {turn} cuda:{number}: launch {1000 * (time.perf_counter() - began):.2f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("train", "slow", "devices", "compile"))
    parser.add_argument("--backend", default="nccl")
    parser.add_argument("--device", default="")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--unroll", type=int, default=200)
    parser.add_argument("--timeout-s", type=int, default=60)
    parser.add_argument("--times", type=Path)
    arguments = parser.parse_args()
    if arguments.mode == "devices":
        launch_on_devices()
        return
    rank = int(os.environ.get("RANK", "0"))
    device = torch.device(arguments.device or f"cuda:{os.environ.get('LOCAL_RANK', '0')}")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if arguments.mode == "compile":
        source = torch.ones(BLOCK, device=device)
        began = time.perf_counter()
        slow_kernel[(1,)](source, torch.empty_like(source), UNROLL=arguments.unroll, BLOCK=BLOCK)
        print(f"compiled in {time.perf_counter() - began:.3f} s", flush=True)
        return
    timeout = datetime.timedelta(seconds=arguments.timeout_s)
    dist.init_process_group(arguments.backend, timeout=timeout)
    train(arguments, rank, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

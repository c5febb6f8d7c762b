"""A server with a tuned kernel whose timings are kept: once it has prewarmed, no request is tuned or reads timings.

`tuned_start.py record|serve RECORDING`, under the compile-only target.
"""

import sys

import torch
import triton
import triton.language as tl

import triton_doctor


def add(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


with triton_doctor.compile_only("cuda:90"):
    configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
    kernel = triton.autotune(configs, key=["n"], cache_results=True)(triton.jit(add))
    x = torch.ones(4096)
    if sys.argv[1] == "record":
        with triton_doctor.record(sys.argv[2]):
            for n in (1000, 1001):
                kernel[(1,)](x, n)
    else:
        print(triton_doctor.prewarm(sys.argv[2], recorded_only=True))
        with triton_doctor.record() as recording, triton_doctor.warmed_up("raise"):
            for n in (1000, 1001):
                kernel[(1,)](x, n)
        print(f"{len(recording.tunings)} rounds, {recording.count} compiles")

"""A server that prewarms its memory from a recording, then answers a request that no kernel may compile for.

`start.py RECORDING`, under the compile-only target.
"""

import sys

import torch
from rows import scale

import triton_doctor


def request(n):
    x = torch.ones(4096)
    scale[(1,)](x, n, BLOCK=64)
    scale[(1,)](x[1:], n, BLOCK=64, num_warps=2)


if __name__ == "__main__":
    with triton_doctor.compile_only("cuda:90"):
        if sys.argv[1] == "record":
            with triton_doctor.record(sys.argv[2]):
                for n in (1000, 1008):
                    request(n)
        else:
            prewarmed = triton_doctor.prewarm(sys.argv[2])
            print(prewarmed)
            with triton_doctor.warmed_up(on_compile="raise"):
                for n in (1000, 1008, 1, 1001):
                    request(n)
            print(triton_doctor.prewarm(sys.argv[2]))

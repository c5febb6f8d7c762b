"""`starts.py UNPACKED PACK LOCAL`: processes that start with what another machine compiled, and what each compiles.

Prints one JSON object: `unpacked` is of a process on the folder UNPACKED; `together` are eight that start at once with
the pack and the folder LOCAL, and also launch a variant that is not packed; `read_only` is one whose folder cannot be
written.
"""

import json
import multiprocessing
import os
import sys

from triton.runtime.jit import MockTensor

import triton_doctor
from tests.machine.packs import kernels
from triton_doctor.runtime.compile_target import activate

activate("cuda:90")
try:
    from triton.runtime.cache import triton_key
except ImportError:  # until 3.4
    from triton.compiler.compiler import triton_key
triton_key()  # what all processes share is worked out once

UNPACKED, PACK, LOCAL = sys.argv[1:4]
READ_THROUGH = {"TRITON_CACHE_MANAGER": "triton_doctor.cache_manager:ReadThrough", "TRITON_DOCTOR_PACK": PACK}
PACKED, ALL = (64, 128, 256), (64, 128, 256, 512)
context = multiprocessing.get_context("fork")
# A pointer of Triton's own: the import of torch would take most of the time of a process.
x = MockTensor("float32")


def launch(answers, barrier, blocks, variables):
    os.environ.update(variables)
    barrier.wait()
    with triton_doctor.record() as recording:
        for block in blocks:
            kernels.add[(1,)](x, x, 1000, BLOCK=block)
    answers.put({"compiled": len(recording.compiled), "loaded": len(recording.loaded)})


def start(count, blocks, variables):
    answers, barrier = context.Queue(), context.Barrier(count)
    processes = [context.Process(target=launch, args=(answers, barrier, blocks, variables)) for _ in range(count)]
    for process in processes:
        process.start()
    found = [answers.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    return found


result = {
    "unpacked": start(1, PACKED, {"TRITON_CACHE_DIR": UNPACKED}),
    "together": start(8, ALL, READ_THROUGH | {"TRITON_CACHE_DIR": LOCAL}),
    "read_only": start(1, ALL, READ_THROUGH | {"TRITON_CACHE_DIR": "/proc/nowhere"}),
}
print(json.dumps(result))

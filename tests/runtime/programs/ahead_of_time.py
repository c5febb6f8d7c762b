"""Compile a kernel for a target of its own, as Inductor's workers do, in a process that has no driver."""

import json
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import triton_doctor


@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def source(block):
    signature = {"x_ptr": "*fp32", "n": "i32"}
    if "constexprs" in ASTSource.__init__.__code__.co_varnames:
        return ASTSource(fn=scale, signature=signature | {"BLOCK": "constexpr"}, constexprs={"BLOCK": block})
    return ASTSource(fn=scale, signature=signature, constants={"BLOCK": block})


with triton_doctor.record(sys.argv[1]) as recording:
    for block in (64, 128):
        triton.compile(source(block), target=GPUTarget("cuda", 90, 32))
told = {
    "warnings": [warning.message for warning in recording.warnings],
    "direct": [(event.direct, event.maker, event.key.target, event.process_us > 0) for event in recording.compiles],
}
print(json.dumps(told))

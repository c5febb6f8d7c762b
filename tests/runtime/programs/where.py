"""Where a program runs: `program.py OUT TARGET [...]`; TARGET is `gpu`, or a target to compile for on this CPU."""

import sys

import triton_doctor
from triton_doctor.runtime.compile_target import activate

OUT, TARGET = sys.argv[1:3]
REST = sys.argv[3:]
DEVICE = "cuda" if TARGET == "gpu" else "cpu"
if TARGET != "gpu":
    # For the whole process, and before kernels are made: an Autotuner of triton 3.2 asks for the driver at once.
    activate(TARGET)


def recorded(**options):
    """A recording of what follows, in OUT."""
    return triton_doctor.record(OUT, **options)

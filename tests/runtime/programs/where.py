"""Where a program runs: `program.py OUT TARGET [...]`; TARGET is `gpu`, or a target to compile for on this CPU."""

import sys

import triton_doctor

OUT, TARGET = sys.argv[1:3]
REST = sys.argv[3:]
DEVICE = "cuda" if TARGET == "gpu" else "cpu"


def recorded(**options):
    """A recording of what follows, in OUT."""
    return triton_doctor.record(OUT, target=None if TARGET == "gpu" else TARGET, **options)

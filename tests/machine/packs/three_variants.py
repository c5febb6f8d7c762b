"""`three_variants.py [KERNELS_FILE]`: compiles three variants for cuda:90, and prints which were found on disk.

The kernel is that of KERNELS_FILE, `kernels.py` beside this file by default.
"""

import importlib.util
import json
import sys
from pathlib import Path

from triton.runtime.jit import MockTensor

import triton_doctor
from triton_doctor.runtime.compile_target import activate

activate("cuda:90")

path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("kernels.py")
spec = importlib.util.spec_from_file_location(path.stem, path)
kernels = importlib.util.module_from_spec(spec)
sys.modules[path.stem] = kernels
spec.loader.exec_module(kernels)

# A pointer of Triton's own: the import of torch would take most of the time of the program.
x = MockTensor("float32")
with triton_doctor.record(*sys.argv[2:]) as recording:
    for block in (64, 128, 256):
        kernels.add[(1,)](x, x, 1000, BLOCK=block)
print(json.dumps({"compiled": len(recording.compiled), "loaded": len(recording.loaded)}))

"""Run each file named, under a recording of its own, on the compile-only target; print what became of it, as JSON.

`predict.py TARGET FILE...`: how many kernels were compiled and loaded, the `said` of the file, the error it ended with.
"""

import json
import runpy
import sys

import triton_doctor
from triton_doctor.runtime.compile_target import activate

activate(sys.argv[1])

told = {}
for path in sys.argv[2:]:
    said, error = None, None
    with triton_doctor.record() as recording:
        try:
            said = runpy.run_path(path, run_name=path).get("said")
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    compiled, loaded = len(recording.compiled), len(recording.loaded)
    told[path] = {"compiled": compiled, "loaded": loaded, "said": said, "error": error}
print(json.dumps(told))

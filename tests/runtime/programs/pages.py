"""Run each file named, under a recording of its own, on the compile-only target; print what was told, as JSON.

`pages.py TARGET FILE...`
"""

import json
import runpy
import sys

import triton_doctor
from triton_doctor.runtime.compile_target import activate
from triton_doctor.runtime.event import CompileEvent

activate(sys.argv[1])
from triton.runtime.driver import driver  # noqa: E402

told = {}
for path in sys.argv[2:]:
    driver.active.set_current_device(0)
    with triton_doctor.record() as recording:
        runpy.run_path(path, run_name=path)
    causes = [cause for cause in recording.causes if not (isinstance(cause.event, CompileEvent) and cause.event.warmup)]
    faults = [warning.message for warning in recording.warnings]
    told[path] = {"codes": [cause.code for cause in causes], "faults": faults}
print(json.dumps(told))

"""Run the examples of TRD716 on a GPU: the bad one compiles while it captures, the good one before."""

import re
import sys
import tempfile
from pathlib import Path

import triton_doctor

PAGE = Path(__file__).parents[3] / "rules" / "TRD716-compiled-in-graph-capture.md"


def main() -> int:
    """0 where each example is told as its page says."""
    expected = {"Bad": [True], "Good": [False]}
    told = {}
    for section in expected:
        code = re.search(rf"^## {section}\n.*?^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(code)
        with triton_doctor.record() as recording:
            exec(compile(code, file.name, "exec"), {"__name__": section})
        told[section] = [event.capturing for event in recording.compiles]
        print(section, told[section], [warning.message for warning in recording.warnings])
    return 0 if told == expected else 1


if __name__ == "__main__":
    sys.exit(main())

"""Run the examples of TRD716 on a GPU: it compiles while it captures, and once it is fixed before."""

import sys
import tempfile
from pathlib import Path

import triton_doctor

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))
from tests.rule_pages import example_and_fixed  # noqa: E402

PAGE = ROOT / "rules" / "TRD716-compiled-in-graph-capture.md"


def main() -> int:
    """0 where each example is told as its page says."""
    expected = {"example": [True], "fixed": [False]}
    told = {}
    for state, code in zip(expected, example_and_fixed(PAGE.read_text()), strict=True):
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(code)
        with triton_doctor.record() as recording:
            exec(compile(code, file.name, "exec"), {"__name__": state})
        told[state] = [event.capturing for event in recording.compiles]
        print(state, told[state], [warning.message for warning in recording.warnings])
    return 0 if told == expected else 1


if __name__ == "__main__":
    sys.exit(main())

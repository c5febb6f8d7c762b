"""What an edit costs the language server: `python -m tests.benchmarks.editor FOLDER FILE`.

Prints the CPU of the first check of FOLDER in this process, and of a check after each edit of FILE as the server makes
them (median). An edit adds a line to a function, or takes it away.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from triton_doctor.editor.folder import CheckedFolder

EDITS = 40


def measure_cpu(folder: Path, file: Path, edits: int) -> None:
    """Print the CPU seconds of the first check of `folder`, and the median of those after edits of `file`."""
    checked = CheckedFolder(folder)

    def seconds(texts: dict[str, bytes]) -> float:
        began = time.process_time()
        checked.check(texts)
        return time.process_time() - began

    text = file.read_text()
    cold = seconds({})
    line = _first_line_of_a_function(text)
    taken = []
    for edit in range(edits):
        lines = text.split("\n")
        if edit % 2 == 0:
            lines.insert(line, f"    edited_{edit} = {edit}")
        taken.append(seconds({file.as_posix(): "\n".join(lines).encode()}))
    median = statistics.median(taken)
    print(f"cold {cold:.2f} s of CPU, an edit {median:.3f} s (median of {edits}): {median / cold:.3f} of it")


def _first_line_of_a_function(text: str) -> int:
    return next(number for number, line in enumerate(text.split("\n")) if line.startswith("    ") and line[4:5] != " ")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.editor", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("file", type=Path, help="a file with kernels, relative to the folder")
    parser.add_argument("--edits", type=int, default=EDITS)
    options = parser.parse_args()
    folder = options.folder.absolute()
    measure_cpu(folder, folder / options.file, options.edits)


if __name__ == "__main__":
    main()

"""A library's own tests under a baseline: written once, green, then a seeded regression is caught, and only that.

`python tests/gpu/library_baseline.py FOLDER SOURCE OLD NEW TEST...`: FOLDER holds the library's `src` and its tests;
in a copy of it the first OLD of the file SOURCE becomes NEW. Prints what each run of pytest ended with.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def run_pytest(folder: Path, tests: list[str], *options: str) -> str:
    path = os.pathsep.join([str(folder / "src"), str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rf",
        "-p",
        "no:cacheprovider",
        "-p",
        "triton_doctor.pytest_plugin",
    ]
    started = time.monotonic()
    done = subprocess.run(
        [*command, *options, *tests], cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    print(f"exit {done.returncode} in {time.monotonic() - started:.1f} s: {done.stdout.strip().splitlines()[-1]}")
    print(done.stderr[-500:], flush=True)
    return done.stdout


def main(library: Path, source: str, old: str, new: str, tests: list[str]) -> None:
    with tempfile.TemporaryDirectory() as work:
        file = Path(work, "compiles.json")
        known = f"--triton-doctor-baseline={file}"
        run_pytest(library, tests, known, "--triton-doctor-update-baseline")
        variants = json.loads(file.read_text())["variants"]
        print(
            {kernel: len(of_kernel) for kernel, of_kernel in variants.items()},
            json.loads(file.read_text())["made_with"],
        )
        run_pytest(library, tests, known)

        seeded = Path(work, "library")
        shutil.copytree(library, seeded)
        text = (seeded / source).read_text()
        assert old in text
        (seeded / source).write_text(text.replace(old, new, 1))
        said = run_pytest(seeded, tests, known, "--triton-doctor")
        print(
            "kernels blamed:",
            sorted(set(re.findall(r"^(?:triton-doctor: )?`(\S+)`: \d+ variants? ", said, re.MULTILINE))),
        )
        sections = re.split(r"^_{3,} .* _{3,}$", said.partition("= FAILURES =")[2], flags=re.MULTILINE)[1:]
        print("failures that are not ours:", sum("triton-doctor: " not in section for section in sections))
        print(said[said.find("= FAILURES =") :][:3000])


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), *sys.argv[2:5], sys.argv[5:])

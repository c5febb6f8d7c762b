"""What `check` costs on a large tree, again, and in proportion: `python -m tests.benchmarks.scale [FOLDER...]`.

On copies of liger-kernel, fla-core, flag-gems, sglang, and of the folders given (vllm and unsloth, unpacked, make the
whole corpus). CPU seconds are those of the process and its workers; peak memory is that of the largest of them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.packages import FLA, LIGER, PACKAGES, ROOT, doctor, fetch

COLD_LIMIT_S, AGAIN_LIMIT_S, CHANGED_LIMIT_S, MEMORY_LIMIT_MB = 20.0, 1.5, 2.0, 1500
CHANGED_FILES = 5


class Run(NamedTuple):
    """One whole run of `check`."""

    cpu_s: float
    wall_s: float
    peak_mb: int
    files: int
    findings: list[dict[str, object]]


def run(folder: Path, *options: str) -> Run:
    """`check .` in `folder`."""
    report = folder.parent / "report.json"
    command = doctor("check", ".", "-o", report, "--exit-zero", *options)
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(f"check failed with {process.returncode}")
    said = json.loads(report.read_text())
    return Run(
        used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss // 1024, said["summary"]["files_seen"], said["findings"]
    )


def main() -> None:
    """Print the costs of the whole, then those of one, two and four copies of a part."""
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch, "whole")
        for source in (*map(fetch, PACKAGES), *map(Path, sys.argv[1:])):
            shutil.copytree(source, whole / source.name)
        show_whole(whole)
        show_proportion(Path(scratch, "copies"))


def show_whole(folder: Path) -> None:
    """Cold, then again with nothing and with one file changed."""
    cold = run(folder, "--no-cache")
    print(f"{cold.files:,} files, {len(cold.findings):,} findings")
    show("cold, no cache", cold, COLD_LIMIT_S)
    filling = run(folder)
    show("cold, filling the cache", filling, COLD_LIMIT_S)
    again = run(folder)
    show("unchanged", again, AGAIN_LIMIT_S)
    changed = []
    paths = sorted({str(finding["path"]) for finding in cold.findings if str(finding["path"]).endswith(".py")})
    for path in random.Random("one file changed").sample(paths, CHANGED_FILES):
        with (folder / path).open("a") as file:
            file.write("\n# changed\n")
        changed.append(run(folder))
    median = sorted(changed, key=lambda one: one.cpu_s)[len(changed) // 2]
    show(f"one file changed, median of {CHANGED_FILES}", median, CHANGED_LIMIT_S)
    same = all(one.findings == cold.findings for one in (filling, again, *changed))
    print("the same findings" if same else "OTHER FINDINGS", flush=True)


def show_proportion(folder: Path) -> None:
    """One, two and four copies of liger-kernel and fla-core."""
    first = 0.0
    for copies in (1, 2, 4):
        for number in range(copies):
            for package in (LIGER, FLA):
                shutil.copytree(fetch(package), folder / str(number) / package.name, dirs_exist_ok=True)
        cpu_s = statistics.median(run(folder, "--no-cache").cpu_s for _ in range(3))
        first = first or cpu_s
        print(f"{copies} x liger-kernel and fla-core: {cpu_s:6.2f} s CPU, {cpu_s / first:4.2f} times", flush=True)


def show(title: str, one: Run, limit_s: float) -> None:
    """Print a row; `limit_s` is in CPU seconds."""
    verdict = "within" if one.cpu_s <= limit_s else "OVER"
    memory = "" if one.peak_mb <= MEMORY_LIMIT_MB else f", OVER {MEMORY_LIMIT_MB}"
    print(
        f"{title:30} {one.cpu_s:7.2f} s CPU ({verdict} {limit_s}), {one.wall_s:6.2f} s wall, {one.peak_mb} MB{memory}",
        flush=True,
    )


if __name__ == "__main__":
    main()

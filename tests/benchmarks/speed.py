"""CPU seconds of whole processes on liger-kernel and fla-core: `python -m tests.benchmarks.speed [--torchfix]`.

Each is run five times, torchfix once, since it takes minutes; all in one run on one machine, so that ratios compare.
Then a check of fla-core with a cache: of no change, of a comment in one file, and of a launch in it. Last comes where
the time of one check goes, by tests/benchmarks/stages.py.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.benchmarks.packages import CACHE, FLA, LIGER, ROOT, doctor, fetch, measure

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 5
CHECK_LIMIT_S = 2.0
START_LIMIT_S = 0.2
TORCHFIX_TIMES = 100
TORCHFIX = "torchfix==0.7.0"
EDITED = Path("fla", "ops", "gla", "chunk.py")
PARSE_ALL = """
import ast, pathlib, sys, warnings
warnings.simplefilter("ignore")
for folder in sys.argv[1:]:
    for path in pathlib.Path(folder).rglob("*.py"):
        ast.parse(path.read_bytes())
"""


def median_cpu(command: Sequence[str | Path], rounds: int = ROUNDS) -> float:
    """The median CPU seconds of `command` over `rounds` whole processes."""
    return statistics.median(measure(command, CACHE).cpu_s for _ in range(rounds))


def install_torchfix() -> Path:
    """The torchfix command, in an environment of its own inside the cache folder."""
    folder = CACHE / TORCHFIX.replace("==", "-")
    if not (folder / "bin" / "torchfix").exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", TORCHFIX], check=True)
    return folder / "bin" / "torchfix"


def main() -> None:
    """Print the medians, and each as a multiple of `check`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torchfix", action="store_true", help="also run torchfix, once: minutes of CPU")
    with_torchfix = parser.parse_args().torchfix
    folders = [fetch(LIGER), fetch(FLA)]
    checked = median_cpu(doctor("check", *folders, "--no-cache", "--output-format", "concise", "--exit-zero"))
    show("triton-doctor check", checked, checked, limit=CHECK_LIMIT_S)
    ruff = (sys.executable, "-m", "ruff", "check", "--select", "F,E", "--no-cache", "--isolated", "--exit-zero")
    show("ruff --select F,E --no-cache", median_cpu((*ruff, *folders)), checked)
    show("ast.parse of every file", median_cpu((sys.executable, "-c", PARSE_ALL, *folders)), checked)
    if with_torchfix:
        torchfix = median_cpu((install_torchfix(), *folders), rounds=1)
        show("torchfix", torchfix, checked)
        print(f"check takes {torchfix / checked:.0f} times less CPU than torchfix (at least {TORCHFIX_TIMES})")
    show("triton-doctor --version", median_cpu(doctor("--version")), checked, limit=START_LIMIT_S)
    show("triton-doctor rule TRD201", median_cpu(doctor("rule", "TRD201")), checked, limit=START_LIMIT_S)
    show_changed(checked)
    print("\nwhere the time of one check goes:", flush=True)
    subprocess.run([sys.executable, "-m", "tests.benchmarks.stages", *folders], cwd=ROOT, check=True)


def show_changed(checked_s: float) -> None:
    """Print what a check with a cache takes after edits of one file, each as a multiple of `checked_s`."""
    text = (fetch(FLA) / EDITED).read_text()
    edits = {
        "check, nothing changed": text,
        "check, a comment changed": "# a comment\n" + text,
        "check, a launch changed": text.replace("BT=BT,", "BT=BT + 0,", 1),
    }
    with TemporaryDirectory() as name:
        copy = Path(shutil.copytree(fetch(FLA), Path(name, "fla-core")))
        command = doctor("check", ".", "--output-format", "concise", "--exit-zero")
        for title, edited in edits.items():
            seconds = []
            for _ in range(ROUNDS):
                (copy / EDITED).write_text(text)
                measure(command, copy)
                (copy / EDITED).write_text(edited)
                seconds.append(measure(command, copy).cpu_s)
            show(title, statistics.median(seconds), checked_s)


def show(title: str, cpu_s: float, checked_s: float, *, limit: float | None = None) -> None:
    """Print a row; `limit` is in CPU seconds."""
    verdict = "" if limit is None else f"  {'within' if cpu_s <= limit else 'OVER'} {limit} s"
    print(f"{title:30} {cpu_s:8.3f} s CPU  {cpu_s / checked_s:7.2f}x check{verdict}", flush=True)


if __name__ == "__main__":
    main()

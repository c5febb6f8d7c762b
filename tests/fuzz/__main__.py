"""`python -m tests.fuzz KIND`: damage files of one kind for a while, and say how many trials failed, and how."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from tests.fuzz.driver import Course, run
from tests.fuzz.sources import fixtures, packages

KINDS = ("python", "settings", "fixes", "mentions", "recordings")


def main() -> int:
    """Exit with 1 where a trial failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seconds", type=float, help="how long to go on")
    parser.add_argument("--count", type=int, help="how many trials to run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial")
    parser.add_argument("--only", type=int, help="run this one trial")
    parser.add_argument("--packages", action="store_true", help="damage the libraries of the benchmarks")
    parser.add_argument("--keep", type=Path, help="a folder for the files of trials that fail")
    options = parser.parse_args()
    if options.only is not None:
        options.first, options.count = options.only, 1
    course = Course(
        kind=options.kind,
        make=importlib.import_module(f"tests.fuzz.{options.kind}").make_trial,
        sources=packages() if options.packages else fixtures(),
        seed=options.seed,
        first=options.first,
        count=options.count if options.seconds is not None or options.count is not None else 1000,
        seconds=options.seconds,
        keep=options.keep.absolute() if options.keep is not None else None,
    )
    report = run(course, tell=lambda line: print(line, flush=True))
    print(report)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""How often each row of the hint table applies, and how often it is right: `python -m tests.benchmarks.hints`.

`corpus` counts the values that launches of the corpus' packages give to constexprs and autotune keys, and that a row
applies to. `labelled` counts the constexprs of fixtures/truth's packages that a row applies to: one toward the data is
right where the constexpr was seen to vary per call, one toward the model where it did not. `--corpus` takes the corpus
too, which needs its packages and half a minute.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from typing import TYPE_CHECKING

from tests.benchmarks.dry_comparison import Share
from tests.benchmarks.packages import FLA, FLAG_GEMS, LIGER, fetch
from tests.benchmarks.seen_values import PACKAGES, read_truth
from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.settings import load_settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.sources.files import find_files
from triton_doctor.static.variability.axis_context import Toward
from triton_doctor.static.variability.hints import HINTS, Hint
from triton_doctor.static.variability.parameters import parameters

if TYPE_CHECKING:
    from pathlib import Path

    from tests.benchmarks.seen_values import Key

CORPUS = (LIGER, FLA, FLAG_GEMS)


@emptying_scan_caches()
def applied_hints(folder: Path) -> dict[Key, list[frozenset[Hint]]]:
    """The rows that apply to each value that a launch in `folder` gives, by what it is given to."""
    before = os.getcwd()  # noqa: PTH109
    os.chdir(folder)
    try:
        settings = load_settings(folder)
        project = whole_project(Database(list(find_files([folder], settings, cwd=folder))), settings, folder)
        found: defaultdict[Key, list[frozenset[Hint]]] = defaultdict(list)
        for parameter in parameters(project):
            key = (parameter.kernel.path, parameter.kernel.name, parameter.param.name)
            found[key] += (frozenset(one.hint for one in source.scalar.hints) for source in parameter.sources)
        return found
    finally:
        os.chdir(before)


def main() -> None:
    """Print the table, a row for each row of the hint table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="store_true", help="count the corpus too")
    fires: dict[Hint, int] = dict.fromkeys(HINTS, 0)
    if parser.parse_args().corpus:
        for package in CORPUS:
            for values in applied_hints(fetch(package)).values():
                for hints in values:
                    for hint in hints:
                        fires[hint] += 1
    right = {hint: Share() for hint in HINTS}
    for library in PACKAGES:
        truth = read_truth(library)
        found = applied_hints(truth.folder)
        for seen in truth.constexprs:
            for hint in frozenset[Hint]().union(*found.get(seen.key, ())):
                right[hint].add(holds=(hint.toward is Toward.DATA) == (seen.how == "per_call"))
    print("| hint | toward | weight | corpus | labelled right |\n|---|---|---|---|---|")
    for hint in HINTS:
        print(f"| {hint.name} | {hint.toward.value} | {hint.weight} | {fires[hint]} | {right[hint]} |")


if __name__ == "__main__":
    main()

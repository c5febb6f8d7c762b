"""How often each row of the hint table applies, and how often it is right: `python -m tests.benchmarks.hints`.

`corpus` counts the values that launches of the corpus' packages give to constexprs and autotune keys, and that a row
applies to. `labelled` counts the constexprs and keys of all truths in corpus/truth that a row applies to: one toward
the data is right where the value was seen to vary per call, one toward the model where it did not. `decides` counts
those of them that would be decided otherwise without the row: not to vary per call, for one toward the data. `--corpus`
takes the corpus too, which needs its packages and half a minute.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from typing import TYPE_CHECKING

from tests.benchmarks.dry_comparison import Share
from tests.benchmarks.packages import FLA, FLAG_GEMS, LIGER, fetch
from tests.benchmarks.seen_values import PACKAGES, library_names, read_truth
from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.settings import load_settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.sources.files import find_files
from triton_doctor.static.variability.hints.axis_context import Toward
from triton_doctor.static.variability.hints.hints import HINTS, Hint
from triton_doctor.static.variability.queries.parameters import parameters
from triton_doctor.static.variability.values.lattice import Term, Variability

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.benchmarks.seen_values import Key, Truth
    from triton_doctor.static.variability.values.lattice import AbstractNumber

CORPUS = (LIGER, FLA, FLAG_GEMS)
# Of corpus/truth, those of repositories alone.
FOLDERS = ("repositories", "held_out", "held_out_sixth")


@emptying_scan_caches()
def read_values(folder: Path) -> dict[Key, list[AbstractNumber]]:
    """The values that launches in `folder` give, by what they are given to."""
    before = os.getcwd()  # noqa: PTH109
    os.chdir(folder)
    try:
        settings = load_settings(folder)
        project = whole_project(Database(list(find_files([folder], settings, cwd=folder))), settings, folder)
        found: defaultdict[Key, list[AbstractNumber]] = defaultdict(list)
        for parameter in parameters(project):
            key = (parameter.kernel.path, parameter.kernel.name, parameter.param.name)
            found[key] += (source.number for source in parameter.sources)
        return found
    finally:
        os.chdir(before)


def applied_hints(value: AbstractNumber) -> frozenset[Hint]:
    """The rows that apply to `value`."""
    return frozenset(one.hint for one in value.hints)


def decides(hint: Hint, value: AbstractNumber) -> bool:
    """Whether all rows but `hint` decide otherwise; of one toward the data, that `value` does not vary per call."""
    terms = (Term(frozenset(one for one in term.hints if one.hint is not hint), term.is_power) for term in value.terms)
    decided = value.decide()
    counts = hint.toward is Toward.MODEL or decided is Variability.PER_CALL
    return counts and value._replace(terms=frozenset(terms)).decide() is not decided


def read_truths() -> Iterator[Truth]:
    """All truths whose libraries are there."""
    every = [(library, "repositories") for library in PACKAGES]
    every += [(library, folder) for folder in FOLDERS for library in library_names(folder)]
    for library, folder in every:
        try:
            yield read_truth(library, folder)
        except SystemExit as error:
            print(error, file=sys.stderr)


def main() -> None:
    """Print the table, a row for each row of the hint table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="store_true", help="count the corpus too")
    fires: dict[Hint, int] = dict.fromkeys(HINTS, 0)
    if parser.parse_args().corpus:
        for package in CORPUS:
            for values in read_values(fetch(package)).values():
                for value in values:
                    for hint in applied_hints(value):
                        fires[hint] += 1
    right = {hint: Share() for hint in HINTS}
    decisive = {hint: Share() for hint in HINTS}
    for truth in read_truths():
        found = read_values(truth.folder)
        for seen in (*truth.constexprs, *truth.tuning):
            values = found.get(seen.key, [])
            for hint in frozenset[Hint]().union(*map(applied_hints, values)):
                holds = (hint.toward is Toward.DATA) == (seen.how == "per_call")
                right[hint].add(holds=holds)
                if any(decides(hint, value) for value in values):
                    decisive[hint].add(holds=holds)
    print("| hint | toward | weight | corpus | labelled right | decides right |\n|---|---|---|---|---|---|")
    for hint in HINTS:
        where = f"{hint.name} | {hint.toward.value} | {hint.weight} | {fires[hint]}"
        print(f"| {where} | {right[hint]} | {decisive[hint]} |")


if __name__ == "__main__":
    main()

"""What the reader makes of 200 subscripted calls that were labelled by hand: `python -m tests.benchmarks.launches`.

corpus/labels/launches.tsv: drawn at random, 50 of each package, by `--draw`; then whether it is a launch, and of
which kernels, was read in the code by hand. A call whose kernel is chosen by a condition or by its callers has several.
"""

from __future__ import annotations

import argparse
import ast
import csv
import random
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.benchmarks.packages import CORPUS, PACKAGES, Package, fetch
from triton_doctor.settings import Settings
from triton_doctor.static.project.analysis.summaries import summarize_files
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.database.dependencies import NO_CHANGES
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from collections.abc import Iterator

LABELS = CORPUS / "labels" / "launches.tsv"
DRAWN = 50
LEAST_RESOLVED = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A subscripted call; `kernels` are (path, name), none where it is no launch."""

    place: tuple[str, int, int]
    kernels: frozenset[tuple[str, str]]


def read_labels(package: Package) -> list[Label]:
    """The calls of `package` that were labelled."""
    with LABELS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Label(
            place=(row["path"], int(row["line"]), int(row["column"])),
            kernels=frozenset(split(kernel) for kernel in row["kernels"].split(";") if kernel),
        )
        for row in rows
        if (row["package"], row["version"]) == (package.name, package.version)
    ]


def split(kernel: str) -> tuple[str, str]:
    """`path:name` to (path, name)."""
    path, _, name = kernel.rpartition(":")
    return path, name


def read_launches(package: Package) -> dict[tuple[str, int, int], frozenset[tuple[str, str]]]:
    """What the reader takes for a launch of which kernels, by path, line and column; none where it cannot say."""
    folder = fetch(package)
    database = Database(list(find_files([folder], Settings(root=folder), cwd=folder)))
    summaries = summarize_files(database, {}, NO_CHANGES)
    return {
        (linked.module.path, linked.launch.span.line, linked.launch.span.column): frozenset(
            (kernel.path, kernel.name) for kernel in linked.kernels
        )
        for path in summaries.by_path
        for linked in summaries.launches(path)
    }


def draw(package: Package) -> list[tuple[str, int, int]]:
    """The subscripted calls of `package` that are to be labelled."""
    folder = fetch(package)
    calls = sorted(
        (path.relative_to(folder).as_posix(), node.lineno, node.col_offset + 1, ast.unparse(node.func)[:90])
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
    )
    chosen = random.Random(f"launches of {package.name} {package.version}").sample(calls, DRAWN)
    return sorted(call[:3] for call in chosen)


def judge() -> Iterator[tuple[str, Package, Label, frozenset[tuple[str, str]]]]:
    """A verdict for each label: right, partly, unresolved or wrong; and what the reader said."""
    for package in PACKAGES:
        launches = read_launches(package)
        for label in read_labels(package):
            said = launches.get(label.place, frozenset())
            if said - label.kernels:
                verdict = "wrong"
            elif said == label.kernels:
                verdict = "right"
            else:
                verdict = "partly" if said else "unresolved"
            yield verdict, package, label, said


def main() -> None:
    """Print how many launches resolve, and by name those that do not, or not rightly."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="print the calls that the labels are of")
    if parser.parse_args().draw:
        warnings.simplefilter("ignore")
        for package in PACKAGES:
            for path, line, column in draw(package):
                print(package.name, package.version, path, line, column, sep="\t")
        return
    judged = list(judge())
    launches = [verdict for verdict, _, label, _ in judged if label.kernels]
    right = launches.count("right")
    print(f"launches resolved: {right} of {len(launches)}, {right / len(launches):.1%} (at least {LEAST_RESOLVED:.0%})")
    print(f"wrong: {sum(verdict == 'wrong' for verdict, *_ in judged)} of {len(judged)} (none)")
    for verdict, package, label, said in judged:
        if verdict != "right":
            path, line, _ = label.place
            print(f"  {verdict}: {package.name} {path}:{line} is {names(label.kernels)}, the reader says {names(said)}")


def names(kernels: frozenset[tuple[str, str]]) -> str:
    """The kernels' names, sorted."""
    return ", ".join(sorted(name for _, name in kernels)) or "none"


if __name__ == "__main__":
    main()

"""What `check` finds of the recompiles that others reported: `python -m tests.benchmarks.cases`.

cases.tsv, beside this file, names for each report a release that still holds the fault, and the kernels and parameters
at which it must be found, as they were read in its code. `rules` is how the codes begin that count as finding it: TRD2
for a kernel that compiles again, TRD3 for one that is tuned again.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.packages import Package, check

if TYPE_CHECKING:
    from collections.abc import Iterable

CASES = Path(__file__).with_suffix(".tsv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A parameter that was reported; `missed_because` is empty for one that should be found."""

    issue: str
    package: Package
    path: str
    kernel: str
    parameter: str
    rules: str
    missed_because: str

    def is_told_by(self, finding: dict[str, Any]) -> bool:
        """Whether `finding` is about this parameter of this kernel, and is a warning or more."""
        place = (finding["kernel_path"], finding["kernel"], finding["parameter"])
        # A constexpr in an autotune key is one finding, of TRD201.
        tells = finding["code"].startswith(self.rules) or (self.rules == "TRD3" and finding["autotune_keys"])
        return tells and finding["severity"] != "info" and place == (self.path, self.kernel, self.parameter)


def read_cases() -> list[Case]:
    """All cases, in order of package."""
    with CASES.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    cases = [Case(package=Package(row.pop("package"), row.pop("version")), **row) for row in rows]
    return sorted(cases, key=lambda case: case.package)


def verdict(case: Case, findings: Iterable[dict[str, Any]]) -> str:
    """`found` with what was said of it, or `missed` with the reason as far as it is known."""
    for finding in findings:
        if case.is_told_by(finding):
            return f"found: {finding['code']} {finding['severity']}"
    return f"missed: {case.missed_because or 'not known why'}"


def main() -> None:
    """Print a line for each case, then how many were found."""
    found, cases = 0, read_cases()
    for package, of_package in groupby(cases, key=lambda case: case.package):
        report, _ = check(package)
        for case in of_package:
            said = verdict(case, report["findings"])
            found += said.startswith("found")
            print(f"{package.name} {package.version} {case.issue}: {case.kernel} {case.parameter}: {said}", flush=True)
    print(f"{found} of {len(cases)} found")


if __name__ == "__main__":
    main()

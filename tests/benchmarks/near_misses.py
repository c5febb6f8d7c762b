"""Places of real code that come near a rule, and stay silent: `python -m tests.benchmarks.near_misses [RULE...]`.

near_misses.tsv holds what was read: a place, the rule that it comes near, and why nothing is to be said there.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.packages import Package, check

if TYPE_CHECKING:
    from collections.abc import Sequence

NEAR_MISSES = Path(__file__).with_suffix(".tsv")
FEWEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """A line of a package, the rule that it comes near, and why it is none."""

    package: Package
    path: str
    line: int
    rule: str
    why: str


def read_near_misses() -> list[NearMiss]:
    """All of them, by rule and package."""
    with NEAR_MISSES.open(encoding="utf-8", newline="") as stream:
        return [
            NearMiss(
                package=Package(row["package"], row["version"]),
                path=row["file"],
                line=int(row["line"]),
                rule=row["rule"],
                why=row["why"],
            )
            for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def fired(near: NearMiss, findings: Sequence[dict[str, Any]]) -> bool:
    """Whether the rule speaks at the line, or of the kernel that is defined there."""
    return any(
        finding["code"] == near.rule
        and near.line in (finding["line"], finding["kernel_line"])
        and near.path in (finding["path"], finding["kernel_path"])
        for finding in findings
    )


def main() -> None:
    """Print for each rule how many stay silent, and by name those that do not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rules", nargs="*", help="only these")
    rules = parser.parse_args().rules
    chosen = [near for near in read_near_misses() if not rules or near.rule in rules]
    findings = {package: check(package)[0]["findings"] for package in sorted({near.package for near in chosen})}
    by_rule: dict[str, list[NearMiss]] = defaultdict(list)
    for near in chosen:
        by_rule[near.rule].append(near)
    for rule, places in sorted(by_rule.items()):
        loud = [near for near in places if fired(near, findings[near.package])]
        print(f"{rule}: {len(places) - len(loud)} of {len(places)} silent (at least {FEWEST})")
        for near in loud:
            print(f"  fired at {near.package.name} {near.path}:{near.line}: {near.why}")


if __name__ == "__main__":
    main()

"""How many findings are right when a person reads the code: `python -m tests.benchmarks.precision`.

corpus/labels/precision.tsv holds what was read: a verdict on a finding and one reason. The sample is the findings at
warning or above of six packages whose digests are lowest, so that a finding keeps its place in the order while others
come and go, and what was read once need not be read again. `--draw` prints the sample with what is known of it, and
`--seed` takes another: what is mended after a sample was read is judged by the next.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.benchmarks.packages import CORPUS, FLA, FLAG_GEMS, LIGER, SGLANG, Package, check

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = (LIGER, FLA, FLAG_GEMS, SGLANG, Package("unsloth", "2026.10.9"), Package("vllm", "0.33.0"))
LABELS = CORPUS / "labels" / "precision.tsv"
DRAWN = 100
LEAST_RIGHT = 90
SEED = "all rules, third reading"

# package, code, path of the kernel, kernel, parameter
Key: TypeAlias = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person made of a finding."""

    verdict: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A finding of the sample."""

    key: Key
    path: str
    line: int
    severity: str
    message: str


def read_labels() -> dict[Key, Label]:
    """What was read of which findings."""
    with LABELS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {
        (row["package"], row["code"], row["kernel_path"], row["kernel"], row["parameter"]): Label(
            verdict=row["verdict"], reason=row["reason"]
        )
        for row in rows
    }


def findings_of(package: Package) -> Iterator[Drawn]:
    """The findings of `package` at warning or above."""
    report, _ = check(package)
    for finding in report["findings"]:
        if finding["severity"] != "info":
            yield drawn(package, finding)


def drawn(package: Package, finding: dict[str, Any]) -> Drawn:
    """The finding, named so that it is the same one when lines have moved."""
    where = (finding["kernel_path"] or finding["path"], finding["kernel"] or "", finding["parameter"] or "")
    return Drawn(
        key=(f"{package.name} {package.version}", finding["code"], *where),
        path=finding["path"],
        line=finding["line"],
        severity=finding["severity"],
        message=finding["message"],
    )


def order(finding: Drawn, seed: str) -> str:
    """A place in a random order that does not depend on the other findings."""
    return hashlib.sha256("\t".join((seed, *finding.key)).encode()).hexdigest()


def main() -> None:
    """Print how many of the sample are right, and by name those that are not, or that nobody read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="print the whole sample, as the label file wants it")
    parser.add_argument("--seed", default=SEED, help="what tells this sample from others")
    options = parser.parse_args()
    found = [finding for package in PACKAGES for finding in findings_of(package)]
    findings = sorted(found, key=lambda finding: order(finding, options.seed))
    sample, labels = findings[:DRAWN], read_labels()
    if options.draw:
        for finding in sample:
            label = labels.get(finding.key, Label(verdict="", reason=""))
            print(*finding.key, f"{finding.path}:{finding.line}", label.verdict, label.reason, sep="\t")
        return
    verdicts = [labels[finding.key].verdict if finding.key in labels else "unread" for finding in sample]
    print(f"{verdicts.count('right')} of {len(sample)} right (at least {LEAST_RIGHT}), of {len(findings)} findings")
    for finding, verdict in zip(sample, verdicts, strict=True):
        if verdict != "right":
            reason = labels[finding.key].reason if finding.key in labels else ""
            print(f"  {verdict}: {finding.path}:{finding.line}: {finding.key[1]} {finding.message}: {reason}")


if __name__ == "__main__":
    main()

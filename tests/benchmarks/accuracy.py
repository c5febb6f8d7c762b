"""What `check` predicts against the values that real runs showed: `python -m tests.benchmarks.accuracy [LIBRARY...]`.

corpus/truth has what each constexpr and autotune key of a library took while batch and length varied. `--packages`
takes those that have a truth by kernel, `--folder NAME` the folder of truths by operator, which is `repositories` by
default; LIBRARY takes one of either. Without any of these it is the packages and the folder. A repository must be
checked out in the cache folder; one that is not is named and left out.

The table has, for each library: the constexprs that vary per call and are found at warning or above, and at any
severity; the fixed and the few-valued ones at warning or above; then the same of autotune keys. `--predictions FILE`
keeps the findings, and reads them where the file exists: predictions of one day can be compared to later truths.

`--score` prints the one number that decides features, hints and severities of `variability`, with its parts, over all
libraries at hand that are not frozen: `score.py` defines it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.dry_comparison import Share
from tests.benchmarks.packages import doctor, measure
from tests.benchmarks.score import print_score
from tests.benchmarks.seen_values import PACKAGES, Key, Seen, Truth, library_names, read_truth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Finding = dict[str, Any]

# What of a finding is compared to what was seen, and where it is.
JUDGED_BY = ("code", "severity", "kernel_path", "kernel", "parameter", "autotune_keys", "path", "line")


@dataclass(slots=True)
class Accuracy:
    """How many of a library's parameters `check` judges as they were seen to vary.

    `per_call` are found, `noted` those found at any severity, `few` and `fixed` are alarms. `keys` are autotune keys
    that vary and are named at warning or above, `keys_noted` at any severity, `fixed_keys` those that do not vary and
    are named at warning or above.
    """

    library: str
    per_call: Share = field(default_factory=Share)
    noted: Share = field(default_factory=Share)
    fixed: Share = field(default_factory=Share)
    few: Share = field(default_factory=Share)
    keys: Share = field(default_factory=Share)
    keys_noted: Share = field(default_factory=Share)
    fixed_keys: Share = field(default_factory=Share)
    wrong: list[str] = field(default_factory=list)

    def summaries(self) -> tuple[Share, ...]:
        return self.per_call, self.noted, self.fixed, self.few, self.keys, self.keys_noted, self.fixed_keys

    def judge_constexpr(self, seen: Seen, finding: Finding | None) -> None:
        """Count one constexpr."""
        warned = finding is not None and finding["severity"] != "info"
        {"per_call": self.per_call, "fixed": self.fixed, "few": self.few}[seen.how].add(holds=warned)
        if seen.how == "per_call":
            self.noted.add(holds=finding is not None)
        if warned != (seen.how == "per_call"):
            self.wrong.append(_describe(self.library, seen, finding))

    def judge_key(self, seen: Seen, finding: Finding | None) -> None:
        """Count one value of an autotune key; few-valued ones are neither right nor wrong."""
        warned = finding is not None and finding["severity"] != "info"
        if seen.how == "per_call":
            self.keys_noted.add(holds=finding is not None)
            if not self.keys.add(holds=warned):
                self.wrong.append(f"{_describe(self.library, seen, finding)} (autotune key)")
        elif seen.how == "fixed" and self.fixed_keys.add(holds=warned):
            self.wrong.append(f"{_describe(self.library, seen, finding)} (autotune key)")


def _describe(library: str, seen: Seen, finding: Finding | None) -> str:
    place = f", {finding['path']}:{finding['line']} {finding['code']} {finding['severity']}" if finding else ""
    return f"{library} {seen.how}: {' '.join(seen.key)} ({', '.join(seen.values[:6])}{place})"


def judge(truth: Truth, findings: Sequence[Finding]) -> Accuracy:
    """Compare what was predicted of a library to what was seen of it."""
    accuracy = Accuracy(truth.library)
    recompiles, tunings = find_recompiles(findings), find_tunings(findings)
    for seen in truth.constexprs:
        accuracy.judge_constexpr(seen, recompiles.get(seen.key))
    for seen in truth.tuning:
        accuracy.judge_key(seen, tunings.get(seen.key))
    return accuracy


def find_recompiles(findings: Iterable[Finding]) -> dict[Key, Finding]:
    """The findings about recompiles, by what they are about, the severest of each."""
    return {
        (finding["kernel_path"], finding["kernel"], finding["parameter"]): finding
        for finding in sorted(findings, key=_severity)
        if finding["code"].startswith("TRD2") and finding["parameter"]
    }


def find_tunings(findings: Iterable[Finding]) -> dict[Key, Finding]:
    """The findings that name autotune keys, by kernel and name, the severest of each."""
    return {
        (finding["kernel_path"], finding["kernel"], name): finding
        for finding in sorted(findings, key=_severity)
        for name in finding["autotune_keys"]
    }


def _severity(finding: Finding) -> int:
    return ("info", "warning", "error").index(finding["severity"])


def predict(folder: Path) -> list[Finding]:
    """What `check` says of parameters in `folder`, without the wording; paths are relative to the folder."""
    command = doctor("check", ".", "--no-cache", "--output-format", "json", "--exit-zero")
    findings: list[Finding] = json.loads(measure(command, folder).stdout)["findings"]
    judged = (one for one in findings if one["autotune_keys"] or (one["code"].startswith("TRD2") and one["parameter"]))
    return [{key: finding[key] for key in JUDGED_BY} for finding in judged]


COLUMNS = (
    "per call found",
    "found or noted",
    "fixed alarmed",
    "few alarmed",
    "keys found",
    "keys found or noted",
    "fixed keys alarmed",
)


def describe_table(rows: Sequence[Accuracy]) -> str:
    """A table in Markdown: each library, all, all without the one with the most per-call constexprs, and the mean."""
    lines = [f"| library | {' | '.join(COLUMNS)} |", f"|{'---|' * (len(COLUMNS) + 1)}"]
    lines += [_row(row.library, [row]) for row in rows]
    if len(rows) > 1:
        largest = max(rows, key=lambda row: row.per_call.whole)
        lines += [_row("all", rows), _row(f"without {largest.library}", [row for row in rows if row is not largest])]
        means = [_mean(summaries) for summaries in zip(*(row.summaries() for row in rows), strict=True)]
        lines.append(f"| mean of those that have any | {' | '.join(means)} |")
    return "\n".join(lines)


def _row(title: str, rows: Sequence[Accuracy]) -> str:
    summaries = [sum(column, Share()) for column in zip(*(row.summaries() for row in rows), strict=True)]
    return f"| {title} | {' | '.join(map(str, summaries))} |"


def _mean(summaries: Iterable[Share]) -> str:
    parts = [share.part / share.whole for share in summaries if share.whole]
    return f"{sum(parts) / len(parts):.3f} of {len(parts)}" if parts else "-"


def main() -> None:
    """Print the table of the libraries that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--packages", action="store_true", help="all packages with a truth")
    parser.add_argument("--repositories", action="store_true", help="all libraries of the folder")
    parser.add_argument("--folder", default="repositories", help="of corpus/truth, with truths by operator")
    parser.add_argument("--details", action="store_true", help="name what is missed and what is a false alarm")
    parser.add_argument("--score", action="store_true", help="print the score of all libraries at hand, or of LIBRARY")
    parser.add_argument("--predictions", type=Path, help="keep the findings in this file, or read them from it")
    chosen = parser.parse_args()
    if chosen.score:
        print_score(chosen.libraries, details=chosen.details)
        return
    every = not (chosen.libraries or chosen.packages or chosen.repositories)
    libraries = [*chosen.libraries, *(PACKAGES if chosen.packages or every else ())]
    libraries += library_names(chosen.folder) if chosen.repositories or every else ()
    kept: dict[str, list[Finding]] = {}
    if chosen.predictions and chosen.predictions.is_file():
        kept = json.loads(chosen.predictions.read_text(encoding="utf-8"))
    rows, predictions = [], {}
    for library in libraries:
        try:
            truth = read_truth(library, chosen.folder)
        except (SystemExit, subprocess.CalledProcessError) as error:
            print(f"{library} is left out: {error}", file=sys.stderr)  # not checked out, or no longer on the index
            continue
        predictions[library] = kept[library] if kept else predict(truth.folder)
        rows.append(judge(truth, predictions[library]))
    if chosen.predictions and not kept:
        chosen.predictions.write_text(json.dumps(predictions, indent=1), encoding="utf-8")
    if chosen.details:
        print(*(line for row in rows for line in row.wrong), sep="\n")
    print(describe_table(rows))


if __name__ == "__main__":
    main()

"""True findings that a sweep clears: `python -m tests.benchmarks.swept_findings [LIBRARY...]`.

Each library is swept as `triton-doctor sweep FOLDER --no-tests` does it, then checked with and without the recording. A
finding is lost if check has it at warning without the recording and no longer with it, and the truth has its constexpr
or tuning key vary per call.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.explore_accuracy import DEVELOPED, find, locate, read_truth, sweep_library
from tests.benchmarks.packages import doctor, measure
from triton_doctor.explore.project_sweep import SweepRequest
from triton_doctor.explore.sweep_report import report

Named = tuple[str, str, str, str]


def warnings_of(folder: Path, recording: Path | None) -> set[Named]:
    """Return what `check` warns of: the last part of the kernel's module, its name, the kind of the part, its name."""
    extra = () if recording is None else ("--recording", recording)
    command = doctor("check", ".", "--no-cache", "--output-format", "json", "--exit-zero", *extra)
    findings: list[dict[str, Any]] = json.loads(measure(command, folder).stdout)["findings"]
    named: set[Named] = set()
    for finding in findings:
        if finding["severity"] == "info" or not finding.get("kernel_path"):
            continue
        module, kernel = Path(finding["kernel_path"]).stem, finding["kernel"]
        named |= {(module, kernel, "autotune key", name) for name in finding["autotune_keys"]}
        if finding["code"].startswith("TRD2") and finding["parameter"]:
            named.add((module, kernel, "constexpr", finding["parameter"]))
    return named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=DEVELOPED)
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    for library in chosen.libraries:
        folder = locate(library)
        found, truth = find(folder), read_truth(library)
        outcomes = sweep_library(found, library, SweepRequest(jobs=chosen.jobs))
        with tempfile.TemporaryDirectory() as temporary:
            recording = Path(temporary, "swept.jsonl")
            lines = report(found, outcomes, isolation="", cwd=found.root).recording
            recording.write_text("".join(f"{line.rstrip()}\n" for line in lines), encoding="utf-8")
            try:
                before, after = warnings_of(folder, None), warnings_of(folder, recording)
            except subprocess.CalledProcessError as error:
                print(f"{library} was not checked: {error}", flush=True)
                continue
        true = {named for named in before if truth.get(named) == "per_call"}
        false = {named for named in before if truth.get(named) == "fixed"}
        gained = [named for named in after - before if named in truth]
        print(
            f"{library}: {len(true - after)} of {len(true)} true warnings cleared, {len(false - after)} of "
            f"{len(false)} false ones; new warnings: {sum(truth[one] == 'per_call' for one in gained)} true, "
            f"{sum(truth[one] == 'fixed' for one in gained)} false",
            flush=True,
        )
        for named in sorted(true - after):
            print(f"  cleared {'.'.join(named)}", flush=True)


if __name__ == "__main__":
    main()

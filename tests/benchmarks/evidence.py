"""What recordings of a GPU say of the findings in real packages: `python -m tests.benchmarks.evidence`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from tests.benchmarks.packages import FLA, LIGER, ROOT, Package, doctor, fetch, measure

RECORDINGS = ROOT / "fixtures" / "recordings"
RUNS = {
    LIGER: tuple(sorted(RECORDINGS.glob("liger_*.jsonl"))),
    FLA: (RECORDINGS / "libraries" / "fla_core.jsonl",),
    Package("cut-cross-entropy", "25.1.1"): (RECORDINGS / "libraries" / "cut_cross_entropy.jsonl",),
}


def main() -> None:
    """Print, for each package, the verdicts, and a row for each finding about a kernel that ran."""
    for package, recordings in RUNS.items():
        options = [word for recording in recordings for word in ("--recording", recording)]
        command = doctor("check", ".", *options, "--output-format", "json", "--exit-zero")
        measured = measure(command, fetch(package))
        findings = [one for one in json.loads(measured.stdout)["findings"] if one["evidence"]]
        verdicts = Counter(one["evidence"]["verdict"] for one in findings)
        listed = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
        print(f"{package.name} {package.version}: {listed}; {measured.cpu_s:.2f} CPU s")
        for one in findings:
            if one["evidence"]["launches"]:
                place = f"{Path(one['path']).name}:{one['line']}"
                print(
                    f"  {one['code']} {one['severity']:8}{one['evidence']['verdict']:14}{place:28}"
                    f"{one['kernel']}.{one['parameter']}: {one['evidence']['text']}"
                )
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""What observe_operators wrote to truths: `python -m tests.gpu.derive_repositories OBSERVED GPU`.

Writes fixtures/truth/repositories/LIBRARY.json for each file of the folder OBSERVED. An operator that ran at no shape
is left out of what is compared, and named with its error. `distinct` values of a constexpr are all kept.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.packages import ROOT


def derive(library: str, observed: dict[str, Any], gpu: str) -> dict[str, Any]:
    """The truth of one library."""
    driver = importlib.import_module(f"tests.gpu.operators.{library}")
    ran = {operator: one for operator, one in observed.items() if one.get("shapes", 0) > len(one.get("failures", {}))}
    errors = {
        operator: one.get("ended") or next(iter(one["failures"].values()))
        for operator, one in observed.items()
        if operator not in ran
    }
    return {
        "about": "What each operator of the repository did on a GPU while batch and length alone varied.",
        "repository": driver.REPOSITORY,
        "commit": driver.COMMIT,
        "gpu": gpu,
        "did_not_run": errors,
        "operators": {operator: _operator(one) for operator, one in ran.items()},
    }


def _operator(observed: dict[str, Any]) -> dict[str, Any]:
    kernels = {
        name: {"variants": kernel["variants"], "constexpr": kernel["constexpr"]}
        for name, kernel in observed["kernels"].items()
    }
    kept = {key: observed[key] for key in ("left_out", "tuning_keys") if observed.get(key)}
    return {"shapes": observed["shapes"], **kept, "kernels": kernels, "tunings": observed["tunings"]}


def main() -> None:
    folder, gpu = Path(sys.argv[1]), sys.argv[2]
    for path in sorted(folder.glob("*.json")):
        truth = derive(path.stem, json.loads(path.read_text(encoding="utf-8")), gpu)
        lines = json.dumps(truth, indent=1)
        out = ROOT / "fixtures" / "truth" / "repositories" / path.name
        out.parent.mkdir(exist_ok=True)
        out.write_text(lines + "\n", encoding="utf-8")
        print(f"{path.stem}: {len(truth['operators'])} operators, {len(truth['did_not_run'])} did not run")


if __name__ == "__main__":
    main()

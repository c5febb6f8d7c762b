"""What observe_operators, or a dry run, wrote to truths: `python -m tests.gpu.derive_repositories OBSERVED OUT [GPU]`.

Writes OUT/LIBRARY.json for each file of the folder OBSERVED; GPU is the name of the GPU, and none is a dry run. An
operator that ran at no shape is left out of what is compared, and named with its error. All values of a constexpr are
kept.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType


def derive(library: str, observed: dict[str, Any], gpu: str | None) -> dict[str, Any]:
    """The truth of one library."""
    driver = importlib.import_module(f"fixtures.corpus.drivers.{library}")
    ran = {operator: one for operator, one in observed.items() if one.get("shapes", 0) > len(one.get("failures", {}))}
    errors = {
        operator: one.get("ended") or next(iter(one["failures"].values()))
        for operator, one in observed.items()
        if operator not in ran
    }
    return {
        "about": f"What each operator did {'on a GPU' if gpu else 'in a dry run'} while batch and length alone varied.",
        **_name_source(driver),
        "gpu": gpu,
        "did_not_run": errors,
        "operators": {operator: _operator(one) for operator, one in ran.items()},
    }


def _name_source(driver: ModuleType) -> dict[str, str]:
    """Which package or repository `driver` is of."""
    if hasattr(driver, "PACKAGE"):
        return {"package": driver.PACKAGE.name, "version": driver.PACKAGE.version}
    return {"repository": driver.REPOSITORY, "commit": driver.COMMIT}


def _operator(observed: dict[str, Any]) -> dict[str, Any]:
    kernels = {
        name: {"variants": kernel["variants"], "constexpr": kernel["constexpr"]}
        for name, kernel in observed["kernels"].items()
    }
    kept = {key: observed[key] for key in ("left_out", "tuning_keys") if observed.get(key)}
    return {"shapes": observed["shapes"], **kept, "kernels": kernels, "tunings": observed["tunings"]}


def main() -> None:
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    gpu = sys.argv[3] if len(sys.argv) > 3 else None
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("*.json")):
        truth = derive(path.stem, json.loads(path.read_text(encoding="utf-8")), gpu)
        (out / path.name).write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
        print(f"{path.stem}: {len(truth['operators'])} operators, {len(truth['did_not_run'])} did not run")


if __name__ == "__main__":
    main()

"""What sweeps of whole libraries say, against the truths: `python -m tests.benchmarks.explore_accuracy LIBRARY...`.

Each library, a name or a folder, is swept as `triton-doctor sweep FOLDER` does it, `--no-tests` unless --tests is
given. Outcomes are kept below `explore` of the cache folder; `--kept` scores those that are there, `--frozen FILE`
writes the entries, what is no entry with the reason, and the launched kernels, and sweeps nothing. A constexpr or
tuning key is per call if it has at least five values, not all powers of two: the truths' own rule, applied to the
values along one axis. Columns: of the truth's per-call constexprs those that an axis taken for data moves so (`any`:
any axis); of its fixed ones the same, which is false; then of the tuning keys.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tests.benchmarks.packages import CACHE, CORPUS
from triton_doctor.explore.entries import find_entries
from triton_doctor.explore.findings import Findings
from triton_doctor.explore.model import EntryOutcome
from triton_doctor.explore.project_sweep import SweepRequest, sweep_project
from triton_doctor.settings import load_settings
from triton_doctor.static.sources.workspace import find_workspace

if TYPE_CHECKING:
    from triton_doctor.explore.entries import Found
    from triton_doctor.explore.findings import SweptPart

TRUTHS = CORPUS / "truth"
KEPT = CACHE / "explore"
DEVELOPED = (
    "trinix monotone_kvm lightning_attn adasplash hira equitriton flash_bla mamba3_fused momoe universal_attention "
    "flash_snn double_attention fasten gr_ml_infra tpa"
).split()
Key = tuple[str, str, str, str]
"""The last part of a kernel's module, its name, the kind of the part and the name of that."""


def locate(library: str) -> Path:
    """Return the folder of a library in the cache folder."""
    if Path(library).is_dir():
        return Path(library).resolve()
    source = (CORPUS / "drivers" / f"{library}.py").read_text(encoding="utf-8")
    repository = next((line.split('"')[1] for line in source.splitlines() if line.startswith("REPOSITORY = ")), "")
    if repository:
        return CACHE / "checkouts" / repository.rpartition("/")[2]
    stem = library.replace("_", "-")
    found = sorted((CACHE / "packages").glob(f"{stem}-[0-9]*"))
    if not found:
        raise SystemExit(f"{library} is not in {CACHE}")
    return found[-1]


def find(folder: Path) -> Found:
    """Return the entries of the project in `folder`."""
    return find_entries(find_workspace([folder], load_settings(folder), cwd=folder))


def variation(values: set[str]) -> str:
    """Return how a part varies, as the truths have it."""
    if len(values) < 2:
        return "fixed"
    is_round = all(value.isdecimal() and int(value).bit_count() == 1 for value in values)
    return "few" if len(values) < 5 or is_round else "per_call"


def read_truth(library: str) -> dict[Key, str]:
    """Return how each constexpr and tuning key of a library varied on a GPU; nothing where there is no truth."""
    stem = library.replace("_", "-")
    places = [*TRUTHS.glob(f"{stem}-[0-9]*.json"), *sorted(TRUTHS.glob(f"held_out*_gpu/{library}.json"))]
    if not places:
        return {}
    truth = json.loads(places[0].read_text(encoding="utf-8"))
    order = ("fixed", "few", "per_call")
    found: dict[Key, str] = {}

    def add(kernel: str, kind: str, name: str, seen: str) -> None:
        key = _key(*kernel.split(":"), kind, name)
        found[key] = max(found.get(key, "fixed"), seen, key=order.index)

    for kernel, own in truth.get("kernels", {}).items():
        for name, value in own["constexpr"].items():
            add(kernel, "constexpr", name, value["seen"])
    for kernel, own in truth.get("autotune", {}).items():
        for name, value in own["key"].items():
            add(kernel, "autotune key", name, value["seen"])
    for operator in truth.get("operators", {}).values():
        for kernel, own in operator["kernels"].items():
            for name, values in own["constexpr"].items():
                add(kernel, "constexpr", name, variation(set(values)))
        for kernel, own in operator.get("tuning_keys", {}).items():
            for name, values in own.items():
                if values:
                    add(kernel, "autotune key", name, variation(set(values)))
    return found


def sweep_library(found: Found, library: str, request: SweepRequest) -> tuple[EntryOutcome, ...]:
    """Sweep a library, and keep what comes of it."""
    outcomes = sweep_project(found, request).outcomes
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = [msgspec.structs.replace(outcome, recording=()) for outcome in outcomes]
    (KEPT / f"{library}.json").write_bytes(msgspec.json.encode(kept))
    return outcomes


def freeze(found: Found) -> dict[str, Any]:
    """Return what a sweep will be measured by, as plain values."""
    return {
        "entries": [entry.key for entry in found.entries],
        "left out": [f"{one.path}:{one.name} {one.reason}" for one in found.left_out],
        "launched": [kernel.key for kernel in found.launched],
    }


def variations(part: SweptPart, *, of_data: bool) -> set[str]:
    """Return how a part varies along each axis; only where it is taken for data, if asked."""
    found = set()
    for sighting in part.sightings:
        if not of_data or part.judged.role == sighting.judged.role == "data":
            for values in sighting.move.along.values():
                several = {str(each) for value in values for each in (value if isinstance(value, list) else [value])}
                found.add(variation(several))
    return found


def score(library: str, found: Found, outcomes: tuple[EntryOutcome, ...], *, has_details: bool) -> Counter[str]:
    """Compare, print, and return the counts."""
    truth = read_truth(library)
    findings = Findings(found, outcomes)
    parts = {
        _key(kernel.module, kernel.name, part.kind, part.name): part
        for kernel in findings.kernels
        for part in kernel.parts
    }
    launched = {_key(kernel.module, kernel.name, "", "")[:2] for kernel in findings.kernels}
    counts: Counter[str] = Counter()
    for key, how in truth.items():
        kind = "key" if key[2] == "autotune key" else "constexpr"
        part = parts.get(key)
        moved = set() if part is None else variations(part, of_data=False)
        is_data = part is not None and "per_call" in variations(part, of_data=True)
        counts[f"{kind} {how}"] += 1
        counts[f"{kind} {how} any"] += "per_call" in moved
        counts[f"{kind} {how} data"] += is_data
        if has_details and is_data is not (how == "per_call") and how != "few":
            where = [f"{one.entry.partition(':')[2]} {one.origin}" for one in (part.sightings if part else ())[:3]]
            role = "" if part is None else f"{part.judged.role} {part.judged.provenance}"
            word = "missed" if how == "per_call" else "FALSE"
            print(f"  {word} {'.'.join(key)} launched={key[:2] in launched} {moved} {role} {where}")
    reached, all_launched = findings.reached
    counts += Counter(
        {
            "entries": len(outcomes),
            "entries reached": sum(bool(outcome.kernels) for outcome in outcomes),
            "entries complete": sum(outcome.status == "complete" for outcome in outcomes),
            "launched": all_launched,
            "launched reached": reached,
            "cpu ms": round(1000 * sum(outcome.cpu_s for outcome in outcomes)),
        }
    )
    show(library, counts)
    for outcome in outcomes if has_details else ():
        if outcome.status != "complete" or any(call.is_cut for call in outcome.calls):
            print(f"  {outcome.status} {outcome.entry} {outcome.cpu_s:.1f} s {outcome.error} {outcome.where}")
    return counts


def show(name: str, counts: Counter[str]) -> None:
    """Print one line of the table."""
    parts = [
        f"{kind} {how} {counts[f'{kind} {how} data']} (any {counts[f'{kind} {how} any']}) of {counts[f'{kind} {how}']}"
        for kind in ("constexpr", "key")
        for how in ("per_call", "fixed")
    ]
    spent = counts["cpu ms"] / 1000 / max(counts["entries"], 1)
    print(
        f"{name:20} entries {counts['entries reached']}/{counts['entries']} launched {counts['launched reached']}/"
        f"{counts['launched']}; {', '.join(parts)}; {spent:.2f} s an entry",
        flush=True,
    )


def _key(module: str, kernel: str, kind: str, name: str) -> Key:
    return module.rpartition(".")[2], kernel, kind, name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=DEVELOPED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kept", action="store_true", help="score what was kept")
    parser.add_argument("--tests", action="store_true", help="run tests of the library for examples")
    parser.add_argument("--no-sandbox", action="store_true")
    parser.add_argument("--details", action="store_true", help="what failed")
    parser.add_argument("--frozen", type=Path, help="write the entries here, and sweep nothing")
    parser.add_argument("--out", type=Path, help="write the counts here")
    chosen = parser.parse_args()
    total: Counter[str] = Counter()
    results: dict[str, Any] = {}
    for library in chosen.libraries:
        found, name = find(locate(library)), Path(library).name
        if chosen.frozen:
            results[name] = freeze(found)
            continue
        began_s = time.monotonic()
        if chosen.kept:
            outcomes = msgspec.json.decode((KEPT / f"{name}.json").read_bytes(), type=tuple[EntryOutcome, ...])
        else:
            request = SweepRequest(jobs=chosen.jobs, seed_files=found.seed_files if chosen.tests else ())
            outcomes = sweep_library(found, name, replace(request, means=()) if chosen.no_sandbox else request)
        counts = score(name, found, outcomes, has_details=chosen.details)
        results[name] = {**counts, "wall_s": round(time.monotonic() - began_s, 1)}
        total += counts
    if not chosen.frozen:
        show("all", total)
    where = chosen.frozen or chosen.out
    if where:
        where.write_text(json.dumps({**results, "all": total}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""What sweeps of whole libraries say, against the truths: `python -m tests.benchmarks.explore_accuracy LIBRARY...`.

Each entry is driven in a forked child, without the sandbox. Outcomes are kept below `explore` of the cache folder;
`--kept` scores those that are there. A constexpr or tuning key is per call if it had at least five values, not all
powers of two: that is the truths' own rule, applied to the values along one axis. Columns: of the truth's per-call
constexprs those that any axis moves so, and those that an axis taken for data does; of its fixed ones those that any
axis, and that an axis taken for data moves so, which is false; of the tuning keys the same.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import triton_doctor
from tests.benchmarks.explore import DEVELOPED, find, in_child, locate
from tests.benchmarks.packages import CACHE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.explore.entries import Found
    from triton_doctor.explore.model import Entry, Outcome

TRUTHS = Path(__file__).parents[2] / "fixtures" / "truth"
KEPT = CACHE / "explore"
Key = tuple[str, str, str, str]
"""The last part of a kernel's module, its name, the kind of the part and the name of that."""


def variation(values: set[str]) -> str:
    """Return how a part varies, as the truths have it."""
    if len(values) < 2:
        return "fixed"
    is_round = all(value.isdecimal() and int(value).bit_count() == 1 for value in values)
    return "few" if len(values) < 5 or is_round else "per_call"


def read_truth(library: str) -> dict[Key, str]:
    """Return how each constexpr and tuning key of a library varied on a GPU."""
    stem = library.replace("_", "-")
    places = [*TRUTHS.glob(f"{stem}-[0-9]*.json"), *sorted(TRUTHS.glob(f"held_out*_gpu/{library}.json"))]
    if not places:
        raise SystemExit(f"no truth of {library}")
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


def drive_library(library: str, pattern: str) -> list[Outcome]:
    """Drive the entries of a library whose key contains `pattern`, and keep what comes of it."""
    import msgspec

    from triton_doctor.explore.model import Outcome

    found = find(locate(library))
    outcomes = []
    for entry in found.entries:
        if pattern in entry.key:
            text = in_child(lambda entry=entry: _drive(found, entry), is_quiet=True)
            if text.get("died"):
                text = {"entry": entry.key, "status": "died", "error": text["error"]}
            outcomes.append(msgspec.convert(text, Outcome))
    if not pattern:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{library}.json").write_bytes(msgspec.json.encode(outcomes))
    return outcomes


def _drive(found: Found, entry: Entry) -> Any:
    import signal

    import msgspec

    from triton_doctor.explore.child.main import drive
    from triton_doctor.explore.model import Plan

    signal.alarm(120)
    sys.path[:0] = [str(found.root / folder) for folder in found.import_roots]
    os.chdir(found.root)
    plan = Plan(
        entry=entry,
        root=str(found.root),
        import_roots=found.import_roots,
        leading_names=found.leading_names,
        notes=found.notes_of(entry),
    )
    return msgspec.to_builtins(msgspec.structs.replace(drive(plan), recording=()))


def kept_outcomes(library: str) -> list[Outcome]:
    """Return what was kept of a library."""
    import msgspec

    from triton_doctor.explore.model import Outcome

    return msgspec.json.decode((KEPT / f"{library}.json").read_bytes(), type=list[Outcome])


def moved_along(outcomes: Iterable[Outcome]) -> Iterator[tuple[Key, str, Outcome, Any, str]]:
    """Yield each part that an axis moves alone: how it varies, the outcome, its call and the axis."""
    for outcome in outcomes:
        for call in outcome.calls:
            for move in call.moves:
                for axis, values in move.along.items():
                    seen = {str(each) for value in values for each in (value if isinstance(value, list) else [value])}
                    yield (
                        _key(move.kernel_module, move.kernel, move.part, move.name),
                        variation(seen),
                        outcome,
                        call,
                        axis,
                    )


def score(library: str, outcomes: list[Outcome], *, has_details: bool) -> Counter[str]:
    """Compare, print, and return the counts."""
    truth = read_truth(library)
    any_axis: dict[Key, set[str]] = {}
    by: dict[Key, list[str]] = {}
    for key, how, outcome, call, axis in moved_along(outcomes):
        any_axis.setdefault(key, set()).add(how)
        place = next((each.places for each in call.axes if each.name == axis), ())
        where = " ".join(f"{each.argument}.{each.axis}" for each in place[:2])
        by.setdefault(key, []).append(f"{how} {outcome.entry.partition(':')[2]} {axis} [{where}]")
    kernels = {_key(module, name, "", "")[:2] for outcome in outcomes for module, name, _, _ in outcome.kernels}
    counts: Counter[str] = Counter()
    for key, how in truth.items():
        kind = "key" if key[2] == "autotune key" else "constexpr"
        counts[f"{kind} {how}"] += 1
        is_moved = "per_call" in any_axis.get(key, ())
        counts[f"{kind} {how} moved"] += is_moved
        counts[f"{kind} {how} moved a little"] += not is_moved and bool(any_axis.get(key, set()) - {"fixed"})
        if has_details and how == "per_call" and not is_moved:
            print(f"  missed {'.'.join(key)} launched={key[:2] in kernels} {by.get(key, [])[:3]}")
    counts["entries"] = len(outcomes)
    counts["entries reached"] = sum(bool(outcome.kernels) for outcome in outcomes)
    counts["cpu ms"] = round(1000 * sum(outcome.cpu_s for outcome in outcomes))
    counts["kernels"] = len({key[:2] for key in truth})
    counts["kernels reached"] = len({key[:2] for key in truth} & kernels)
    show(library, counts)
    if has_details:
        for outcome in outcomes:
            if not outcome.kernels or any(call.is_cut for call in outcome.calls):
                cut = " CUT" if outcome.kernels else ""
                print(f"  {outcome.status}{cut} {outcome.entry} {outcome.cpu_s:.1f} s {outcome.error} {outcome.where}")
    return counts


def show(name: str, counts: Counter[str]) -> None:
    """Print one line of the table."""
    parts = [
        f"{kind} {counts[f'{kind} {how} moved']}/{counts[f'{kind} {how}']} {how} (+{counts[f'{kind} {how} moved a little']})"
        for kind in ("constexpr", "key")
        for how in ("per_call", "fixed")
    ]
    spent = counts["cpu ms"] / 1000 / max(counts["entries"], 1)
    print(
        f"{name:20} entries {counts['entries reached']}/{counts['entries']} kernels of truth "
        f"{counts['kernels reached']}/{counts['kernels']} {', '.join(parts)}; {spent:.2f} s an entry",
        flush=True,
    )


def _key(module: str, kernel: str, kind: str, name: str) -> Key:
    return module.rpartition(".")[2], kernel, kind, name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=DEVELOPED)
    parser.add_argument("--entry", default="", help="a part of the names of entries")
    parser.add_argument("--kept", action="store_true", help="score what was kept")
    parser.add_argument("--details", action="store_true", help="what failed")
    chosen = parser.parse_args()
    sys.dont_write_bytecode = True
    importlib.import_module("torch").set_num_threads(1)
    importlib.import_module("triton_doctor.explore.child.main")
    # What a dry run imports and tests once is no part of the cost of an entry.
    with triton_doctor.dry_run():
        pass
    total: Counter[str] = Counter()
    for library in chosen.libraries:
        outcomes = kept_outcomes(library) if chosen.kept else drive_library(library, chosen.entry)
        total += score(library, outcomes, has_details=chosen.details)
    show("all", total)


if __name__ == "__main__":
    main()

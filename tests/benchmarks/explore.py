"""How much of a library its entries reach: `python -m tests.benchmarks.explore [--entry NAME] [--trace] LIBRARY...`.

Each entry runs dry in a forked child, without the sandbox and without being varied. Prints the entries and launched
kernels reached, and with --details what failed. A library is a name of tests/gpu/operators, or a folder.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.packages import CACHE

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.explore.entries import Found
    from triton_doctor.explore.model import SweepEntry

DEVELOPED = (
    "trinix monotone_kvm lightning_attn adasplash hira equitriton flash_bla mamba3_fused momoe universal_attention "
    "flash_snn double_attention fasten gr_ml_infra tpa"
).split()
SECONDS = 120


def locate(library: str) -> Path:
    """Return the folder of a library in the cache folder."""
    if Path(library).is_dir():
        return Path(library).resolve()
    source = (Path(__file__).parents[1] / "gpu" / "operators" / f"{library}.py").read_text(encoding="utf-8")
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
    from triton_doctor.explore.entries import find_entries
    from triton_doctor.settings import load_settings
    from triton_doctor.static.sources.workspace import find_workspace

    return find_entries(find_workspace([folder], load_settings(folder), cwd=folder))


def in_child(work: Callable[[], dict[str, Any]], *, is_quiet: bool) -> dict[str, Any]:
    """Return what `work` returns in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        logging.disable(logging.CRITICAL)
        if is_quiet:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
        try:
            outcome = work()
        except BaseException as error:
            outcome = {"error": f"{type(error).__name__}: {error}", "died": True}
        with os.fdopen(writer, "w", encoding="utf-8") as pipe:
            json.dump(outcome, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {"error": f"the process ended with {status}", "died": True}


def explore_module(found: Found, module: str, entries: list[SweepEntry], *, is_traced: bool) -> dict[str, Any]:
    """Import a module, and reach each of its entries in a child of its own."""
    from triton_doctor.explore.child import stand_ins
    from triton_doctor.explore.child.search import ReachedStates, reach
    from triton_doctor.explore.child.target import resolve
    from triton_doctor.explore.model import EntryPlan, Limits

    root = found.root
    folders = [root / folder for folder in found.import_roots]
    sys.path[:0] = map(str, folders)
    own = {path.stem for folder in folders for path in folder.iterdir()}
    missing = stand_ins.install(own, lambda path: Path(path).resolve().is_relative_to(root.resolve()))
    loaded = stand_ins.load(module)

    def reach_entry(entry: SweepEntry) -> dict[str, Any]:
        import signal

        signal.alarm(SECONDS)
        limits = Limits()
        plan = EntryPlan(
            entry=entry,
            root=str(root),
            import_roots=found.import_roots,
            leading_names=found.leading_names,
            notes=found.notes_of(entry),
            limits=limits,
        )
        began = time.process_time()
        reached: ReachedStates = reach(plan, resolve(entry, loaded), limits, trace=print if is_traced else None)
        kernels = {kernel.name for _, seen in reached.states for kernel in seen.launched}
        state = reached.states[0][0] if reached.states else None
        if is_traced and state is not None:
            print({path: (spec.kind, spec.axes or spec.value) for path, spec in state.specs.items()}, state.ties)
        return {
            "status": "complete" if reached.is_complete else "partial" if reached.states else "no",
            "kernels": sorted(kernels),
            "tries": reached.tries,
            "states": len(reached.states),
            "error": reached.error,
            "where": reached.where,
            "cpu_s": time.process_time() - began,
        }

    outcomes = {entry.key: in_child(lambda e=entry: reach_entry(e), is_quiet=not is_traced) for entry in entries}
    return {"entries": outcomes, "stand_ins": missing.names}


def explore(library: str, pattern: str, *, is_traced: bool, has_details: bool) -> tuple[int, int, int, int, float]:
    """Explore a library, print what came of it, and return entries, those reached, kernels, those reached, seconds."""
    import triton_doctor

    found = find(locate(library))
    modules: dict[str, list[SweepEntry]] = {}
    for entry in found.entries:
        if pattern in entry.key:
            modules.setdefault(entry.module, []).append(entry)
    outcomes: dict[str, dict[str, Any]] = {}
    with triton_doctor.dry_run():
        for module, entries in modules.items():
            result = in_child(
                lambda m=module, es=entries: explore_module(found, m, es, is_traced=is_traced), is_quiet=not is_traced
            )
            if "entries" in result:
                outcomes |= result["entries"]
                if result["stand_ins"] and has_details:
                    print(f"  {module}: stand-ins for {', '.join(result['stand_ins'])}")
            else:
                outcomes |= {entry.key: {"error": f"import: {result['error']}"} for entry in entries}
    launched = {kernel.name for kernel in found.launched}
    kernels = {name for outcome in outcomes.values() for name in outcome.get("kernels", ())}
    reached = [key for key, outcome in outcomes.items() if outcome.get("kernels")]
    spent = sum(outcome.get("cpu_s", 0.0) for outcome in outcomes.values())
    if has_details:
        for key, outcome in outcomes.items():
            if outcome.get("status") != "complete":
                where = outcome.get("where", "")
                print(
                    f"  {outcome.get('status', 'died'):8} {key} [{outcome.get('tries', 0)}] {outcome['error']} {where}"
                )
        print(f"  not reached: {', '.join(sorted(launched - kernels))}")
        for left in found.left_out:
            print(f"  left out: {left.path}:{left.name} {left.reason}")
    partial = sum(outcome.get("status") == "partial" for outcome in outcomes.values())
    print(
        f"{library:22} entries {len(reached)}/{len(outcomes)} ({partial} partial)  kernels {len(kernels & launched)}/"
        f"{len(launched)}  {spent / max(len(outcomes), 1):.2f} s an entry",
        flush=True,
    )
    return len(outcomes), len(reached), len(launched), len(kernels & launched), spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=DEVELOPED)
    parser.add_argument("--entry", default="", help="a part of the names of entries")
    parser.add_argument("--trace", action="store_true", help="a line for each call")
    parser.add_argument("--details", action="store_true", help="what failed")
    parser.add_argument("--needs", default="", help="a folder with what the libraries import")
    chosen = parser.parse_args()
    sys.dont_write_bytecode = True
    if chosen.needs:
        sys.path.append(chosen.needs)
    importlib.import_module("torch").set_num_threads(1)
    totals = [
        explore(library, chosen.entry, is_traced=chosen.trace, has_details=chosen.details)
        for library in chosen.libraries
    ]
    entries, reached, launched, kernels, spent = (sum(column) for column in zip(*totals, strict=True))
    print(f"all: entries {reached}/{entries}, kernels {kernels}/{launched}, {spent / max(entries, 1):.2f} s an entry")


if __name__ == "__main__":
    main()

"""The calls that sweeps of libraries make, run again: `python -m tests.gpu.sweep_values OUT [LIBRARY...]`.

OUT/LIBRARY.calls.json has the calls: drivers that a sweep wrote, each with the sizes at which a part of a kernel's key
moved, one axis after the other. They are made where the file is missing. OUT/LIBRARY.gpu.json and
OUT/LIBRARY.dry.json get, for each driver, the values that kernels' constexprs took on a GPU, and dry in the calls that
ran there; they are written after each driver, which runs in a process of its own. Tuners keep their first config.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.packages import Package, fetch
from tests.gpu.observe_operators import kernels_of, tensors_to_differentiate, tune

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

PACKAGES = {
    "lightning_attn": Package("lightning-attn", "0.0.5"),
    "adasplash": Package("adasplash", "0.2.2"),
    "trinix": Package("trinix", "0.1.4"),
}
# Sizes of an axis, drivers of a library and seconds of a driver: a GPU is lent for minutes.
MOST_SIZES, MOST_DRIVERS, SECONDS = 6, 30, 100


def make_calls(library: str, out: Path, jobs: int) -> list[dict[str, Any]]:
    """Return the calls that a sweep of `library` makes, from `out` if they are there."""
    file = out / f"{library}.calls.json"
    if not file.is_file():
        from tests.benchmarks.explore_accuracy import find
        from triton_doctor.explore.project_sweep import SweepRequest, sweep_project

        swept = sweep_project(find(fetch(PACKAGES[library])), SweepRequest(jobs=jobs))
        calls = [call for outcome in swept.outcomes for call in outcome.calls if call.driver and not call.error]
        written = [{"driver": call.driver, "sizes": _sizes_of(call)} for call in calls]
        file.write_text(json.dumps(written, indent=1), encoding="utf-8")
    made: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return made


def _sizes_of(call: Any) -> list[dict[str, int]]:
    """Return the sizes of a call: those that it was found with, then each that moved something."""
    named = {
        axis: sizes
        for move in call.moves
        for axis, sizes in move.sizes.items()
        if re.search(rf"\b{axis}: int", call.driver)
    }
    return [{}, *({axis: size} for axis, sizes in named.items() for size in sizes[:MOST_SIZES])]


def run_driver(library: str, call: Mapping[str, Any], *, is_dry: bool) -> dict[str, Any]:
    """Run one driver at its sizes, forward and backward, and return what its kernels did. Once in a process."""
    import torch

    import triton_doctor

    tune(1)
    sys.path.insert(0, str(fetch(PACKAGES[library])))
    failures = {}
    watching: AbstractContextManager[Any] = triton_doctor.dry_run() if is_dry else triton_doctor.record()
    with watching as recording:
        namespace: dict[str, Any] = {}
        exec(call["driver"], namespace)
        drive = next(value for name, value in namespace.items() if name.startswith("drive_"))
        for sizes in call["sizes"]:
            try:
                for output in tensors_to_differentiate(drive(**sizes)):
                    torch.autograd.backward(output.float().sum())  # type: ignore[attr-defined]
                torch.cuda.synchronize()
            except Exception as error:  # a size that fails must not end the rest
                failures[json.dumps(sizes)] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    kernels = {name: seen["constexpr"] for name, seen in kernels_of(recording).items()}
    return {"calls": len(call["sizes"]), "failures": failures, "kernels": kernels}


def run_apart(library: str, out: Path, number: int, sizes: list[dict[str, int]], *, is_dry: bool) -> dict[str, Any]:
    """Run one driver in a process of its own, at `sizes`."""
    file = out / f"{library}.{number}.{'dry' if is_dry else 'gpu'}.json"
    command = [sys.executable, "-W", "ignore", "-m", "tests.gpu.sweep_values", str(out), library]
    command += ["--number", str(number), "--sizes", json.dumps(sizes), "--answer", str(file)]
    try:
        done = subprocess.run(
            [*command, *(["--dry"] if is_dry else [])], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {"ended": f"out of time after {SECONDS} s"}
    if done.returncode:
        return {"ended": done.stderr.strip()[-300:]}
    answer: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    file.unlink()
    return answer


def run_library(library: str, out: Path, jobs: int, *, is_dry: bool) -> list[dict[str, Any]]:
    """Run all drivers, at the sizes that the GPU ran at if it ran; a call that fails there is left out and named."""
    gpu_file = out / f"{library}.gpu.json"
    observed: list[dict[str, Any]] = []
    on_gpu = json.loads(gpu_file.read_text(encoding="utf-8")) if is_dry and gpu_file.is_file() else []
    calls = make_calls(library, out, jobs)[:MOST_DRIVERS]

    def run(number: int) -> dict[str, Any]:
        sizes = on_gpu[number].get("ran", []) if on_gpu else calls[number]["sizes"]
        seen = run_apart(library, out, number, sizes, is_dry=is_dry)
        # What failed leaves variants behind, so that the others run once more.
        ran = [size for size in sizes if "ended" not in seen and json.dumps(size) not in seen["failures"]]
        if ran and len(ran) < len(sizes):
            seen = run_apart(library, out, number, ran, is_dry=is_dry) | {"left_out": seen["failures"]}
        return seen | {"ran": ran}

    with ThreadPoolExecutor(jobs) as pool:
        for number, seen in enumerate(pool.map(run, range(len(calls)))):
            observed.append(seen)
            (out / f"{library}.{'dry' if is_dry else 'gpu'}.json").write_text(json.dumps(observed, indent=1), "utf-8")
            left = seen.get("ended") or f"{len(seen['ran'])} of {len(calls[number]['sizes'])} calls ran"
            print(f"{library} {number}: {left}", flush=True)
    return observed


def compare(library: str, out: Path, jobs: int) -> list[str]:
    """Run all drivers of `library` on the GPU and dry, print the counts, and return the differences."""
    on_gpu = run_library(library, out, jobs, is_dry=False)
    dry = run_library(library, out, jobs, is_dry=True)
    sets, differences = 0, []
    for number, (true, seen) in enumerate(zip(on_gpu, dry, strict=True)):
        for kernel, values in true["kernels"].items() if true["ran"] else ():
            own = seen.get("kernels", {}).get(kernel, {})
            sets += len(values)
            differences += [
                f"{library} {number} {kernel} {name}: on the GPU {values[name]}, dry {own.get(name)}"
                for name in values
                if own.get(name) != values[name]
            ]
    ran = [driver for driver in on_gpu if driver["ran"]]
    kernels = {kernel for driver in ran for kernel in driver["kernels"]}
    print(
        f"{library}: {len(ran)} of {len(on_gpu)} drivers ran on the GPU, {sum(len(one['ran']) for one in ran)} calls; "
        f"{sets - len(differences)} of {sets} value sets of {len(kernels)} kernels are equal",
        flush=True,
    )
    return differences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("libraries", nargs="*", default=[*PACKAGES])
    parser.add_argument("--jobs", type=int, default=14)
    parser.add_argument("--number", type=int, help="run this driver alone, in this process")
    parser.add_argument("--dry", action="store_true", help="run it dry")
    parser.add_argument("--sizes", type=json.loads, help="of that driver, as JSON")
    parser.add_argument("--answer", type=Path, help="where to write what it did")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.number is not None:
        library = chosen.libraries[0]
        call = make_calls(library, chosen.out, 1)[chosen.number] | {"sizes": chosen.sizes}
        chosen.answer.write_text(json.dumps(run_driver(library, call, is_dry=chosen.dry)), encoding="utf-8")
        return
    for library in chosen.libraries:
        for difference in compare(library, chosen.out, chosen.jobs):
            print(difference, flush=True)


if __name__ == "__main__":
    main()

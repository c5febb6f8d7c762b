"""What a dry run sees against what a GPU saw: `python -m tests.benchmarks.dry [--details] [--cost] [LIBRARY...]`.

Runs the operators of corpus/drivers dry, each in a process of its own, and compares them to corpus/truth: whole
packages by kernel, and repositories that nobody had run dry (corpus/truth/repositories) operator by operator. Run it
with the Triton of the truths, 3.6: PYTHONPATH=~/.cache/triton-doctor-tests/triton-3.6.0. A library that is not in the
cache folder is named and left out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.dry_comparison import Comparison, compare_operators, compare_package, describe_table
from tests.benchmarks.packages import FLAG_GEMS, LIGER, Package, fetch
from tests.benchmarks.seen_values import LATER_PACKAGES, TRUTH, library_names
from tests.gpu.observe_operators import CONFIGS_KEPT, Observed, find_source, observe

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

# By the name of the module that has their operators.
PACKAGES = {"liger": LIGER, "flag_gems": FLAG_GEMS} | {
    package.name.removesuffix("-triton-kernels").replace("-", "_"): package for package in LATER_PACKAGES
}
# What some of them import.
NEEDED = (Package("einops", "0.8.2"), Package("loguru", "0.7.3"), Package("sqlalchemy", "2.0.48"))
SECONDS = 120


def observe_dry(library: str, operators: Mapping[str, Container[str]], configs_kept: int) -> dict[str, Observed]:
    """What each of `operators` does dry, without the shapes that are named with it.

    Each runs in a child of this process, which imported torch once.
    """
    import triton_doctor

    with triton_doctor.dry_run():
        pass  # the self-test, once for all children
    observed = {}
    for operator, without in operators.items():
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            os._exit(_observe_in_child(library, operator, configs_kept, without, writer))
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        observed[operator] = json.loads(text) if text else {"ended": f"the process ended with {status}"}
    return observed


def _observe_in_child(library: str, operator: str, configs_kept: int, without: Container[str], writer: int) -> int:
    """Write what `operator` did to `writer`, as JSON; the exit status."""
    import signal

    import triton_doctor

    signal.alarm(SECONDS)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        told = observe(library, operator, triton_doctor.dry_run(), configs_kept, without)
    except BaseException as error:
        told = {"ended": f"{type(error).__name__}: {error}"}
    with os.fdopen(writer, "w", encoding="utf-8") as pipe:
        json.dump(told, pipe)
    return 0


def locate(library: str) -> Path | None:
    """Put the package of `library` on the path; None where it is not in the cache folder."""
    package = PACKAGES[library]
    if not package.folder.is_dir():
        return None
    sys.path.insert(0, str(package.folder))
    return package.folder


def compare(library: str, folder: str, kept: Path | None = None) -> tuple[Comparison, dict[str, Observed]] | None:
    """Run `library` dry and compare it to its truth; None where it is not here.

    With `kept`, a folder, a library with a truth by operator is compared as `keep` wrote it there instead.
    """
    driver = importlib.import_module(f"fixtures.corpus.drivers.{library}")
    if library in PACKAGES:
        if locate(library) is None:
            return None
        package = PACKAGES[library]
        truth = json.loads((TRUTH / f"{package.name}-{package.version}.json").read_text(encoding="utf-8"))
        observed = observe_dry(library, dict.fromkeys(driver.OPERATORS, ()), 1)
        one_process = getattr(driver, "ONE_PROCESS", False)
        return compare_package(library, truth["kernels"], observed, one_process=one_process), observed
    truth = json.loads((TRUTH / folder / f"{library}.json").read_text(encoding="utf-8"))
    if kept:
        observed = json.loads((kept / f"{library}.json").read_text(encoding="utf-8"))
        return compare_operators(library, truth["operators"], observed), observed
    try:
        find_source(driver)
    except SystemExit as error:
        print(error, file=sys.stderr)
        return None
    left_out = {operator: true.get("left_out", ()) for operator, true in truth["operators"].items()}
    observed = observe_dry(library, left_out, CONFIGS_KEPT)
    return compare_operators(library, truth["operators"], observed), observed


def observe_all(library: str) -> dict[str, Observed]:
    """What each operator of `library` does dry, without the shapes that fail; they are `left_out`."""
    operators = importlib.import_module(f"fixtures.corpus.drivers.{library}").OPERATORS
    observed = observe_dry(library, dict.fromkeys(operators, ()), CONFIGS_KEPT)
    failed = {name: one["failures"] for name, one in observed.items() if one.get("failures")}
    some = {name: shapes for name, shapes in failed.items() if len(shapes) < observed[name]["shapes"]}
    again = observe_dry(library, some, CONFIGS_KEPT)
    observed |= {name: one | {"left_out": failed[name]} for name, one in again.items()}
    for name, one in observed.items():
        print(f"{library} {name}: {one.get('ended') or one['failures'] or one.get('left_out') or one['shapes']}")
    return observed


def keep(folder: Path, library: str, observed: Mapping[str, Observed]) -> None:
    """Write what was observed of `library` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{library}.json").write_text(json.dumps(observed, indent=1), encoding="utf-8")


def all_libraries(folder: str) -> list[str]:
    """The packages with a truth by kernel, then the libraries of a folder of truths by operator."""
    return [*PACKAGES, *library_names(folder)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--details", action="store_true", help="name what differs")
    parser.add_argument("--cost", action="store_true", help="measure what a dry run costs instead")
    parser.add_argument("--folder", default="repositories", help="of corpus/truth, with truths by operator")
    parser.add_argument("--observe", action="store_true", help="observe alone, libraries that may have no truth")
    parser.add_argument("-o", "--out", type=Path, help="keep what was observed in this folder")
    parser.add_argument("--kept", type=Path, help="compare what was kept in this folder, and run no repository")
    chosen = parser.parse_args()
    if chosen.cost:
        from tests.benchmarks.dry_cost import measure_cost

        measure_cost()
        return
    sys.path[:0] = [str(fetch(package)) for package in NEEDED]
    comparisons: list[Comparison] = []
    began = time.process_time()
    for library in chosen.libraries or all_libraries(chosen.folder):
        if chosen.observe:
            keep(chosen.out, library, observe_all(library))
            continue
        compared = compare(library, chosen.folder, chosen.kept)
        if compared is None:
            print(f"{library}: not in the cache folder", file=sys.stderr)
            continue
        comparison, observed = compared
        comparisons.append(comparison)
        if chosen.out:
            keep(chosen.out, library, observed)
        if chosen.details:
            print(*comparison.differences, sep="\n")
    if not chosen.observe:
        print(describe_table(comparisons))
    print(f"{time.process_time() - began + _children_s():.0f} s of CPU")


def _children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()

"""What `check --fix --verify` makes of real packages: `python -m tests.benchmarks.fixes [--unsafe-fixes] [PACKAGE...]`.

Needs torch and triton beside the doctor, and no GPU. Works on copies of the packages.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.packages import FLA, FLAG_GEMS, LIGER, doctor, fetch, measure
from triton_doctor.evidence.verification.verify import TrialOutcome, importable, verify
from triton_doctor.settings import Settings
from triton_doctor.static.fix.rounds import fix, name_of
from triton_doctor.static.fix.write import write_all
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.finding import Finding
    from triton_doctor.static.fix.rounds import Fixed

COLUMNS = ("offered", "applied", "verified", "withdrawn", "not verified")
# Imports each module that is named on a line of stdin from the folder given first; prints those that can be.
IMPORTER = """
import importlib, io, sys
sys.path.insert(0, sys.argv[1])
out, sys.stdout = sys.stdout, io.StringIO()
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
        print(name, file=out)
    except BaseException:
        pass
"""


def about(findings: Iterable[Finding]) -> Counter[tuple[str, str, str | None, str | None]]:
    """Findings by rule, file, kernel and parameter, whatever lines have moved."""
    return Counter((one.code, one.path, one.facts.kernel, one.facts.parameter) for one in findings)


def imported(root: Path, modules: Iterable[str]) -> set[str]:
    """Those of `modules` that can be imported from `root`."""
    command = [sys.executable, "-W", "ignore", "-c", IMPORTER, str(root)]
    done = subprocess.run(command, input="\n".join(modules), capture_output=True, text=True, check=False)
    return set(done.stdout.split())


def fix_copy(folder: Path, unsafe: bool) -> None:
    """Fix the package in `folder`, and print what came of it."""
    settings = Settings(root=folder)

    def files() -> list:  # type: ignore[type-arg]
        return list(find_files([folder], settings, cwd=folder))

    before = scan(files(), settings, cwd=folder)
    first = fix(files(), settings, cwd=folder, unsafe=unsafe)
    began = time.perf_counter()
    changed = {path: file.after for path, file in first.files.items()}
    project = whole_project(Database(files()), settings, folder)
    verdicts = verify(project, first.made, changed, cwd=folder, target="cuda:90")
    took_s = time.perf_counter() - began
    withdrawn = {name_of(one) for one in told(verdicts, TrialOutcome.WITHDRAWN)}
    fixed = fix(files(), settings, cwd=folder, unsafe=unsafe, without=withdrawn) if withdrawn else first
    accepted = ("safe", "unsafe") if unsafe else ("safe",)
    counts = {
        "offered": Counter(one.code for one in before.findings if one.fixable in accepted),
        "applied": Counter(one.code for one in first.made),
        "verified": Counter(one.code for one in told(verdicts, TrialOutcome.VERIFIED)),
        "withdrawn": Counter(one.code for one in told(verdicts, TrialOutcome.WITHDRAWN)),
        "not verified": Counter(one.code for one in told(verdicts, TrialOutcome.UNVERIFIED)),
    }
    print(f"{'rule':10}" + "".join(f"{column:>14}" for column in COLUMNS))
    for code in sorted(set().union(*counts.values())):
        print(f"{code:10}" + "".join(f"{counts[column][code]:14,}" for column in COLUMNS))
    for verdict in verdicts:
        if verdict.outcome is TrialOutcome.WITHDRAWN:
            print(f"  {verdict.line()}")
    print(f"  {len(verdicts)} kernels tried in {took_s:.0f} s; why not verified:")
    for why, count in Counter(
        (one.why or "")[:110] for one in verdicts if one.outcome is TrialOutcome.UNVERIFIED
    ).most_common(4):
        print(f"    {count:4} {why}")
    check_result(folder, fixed, before.findings, settings)


def told(verdicts: Iterable, outcome: TrialOutcome) -> list[Finding]:  # type: ignore[type-arg]
    """The fixes of the verdicts that are `outcome`."""
    return [one for verdict in verdicts if verdict.outcome is outcome for one in verdict.fixes]


def check_result(folder: Path, fixed: Fixed, before: Iterable[Finding], settings: Settings) -> None:
    """Write the fixes, and print whether every file parses and imports as before, and what is found afterwards."""
    roots = {path: importable((folder / path).resolve()) for path in fixed.files}
    root = next(iter(roots.values())).root if roots else folder
    modules = sorted(where.module for where in roots.values())
    could = imported(root, modules)
    write_all(fixed.files, [])
    for path in fixed.files:
        ast.parse((folder / path).read_bytes())
    can = imported(root, modules)
    print(f"  {len(fixed.files)} files changed, all parse; {len(can)} of {len(could)} that could be imported still can")
    if could - can:
        print(f"  no longer: {', '.join(sorted(could - can))}")
    files = list(find_files([folder], settings, cwd=folder))
    after = scan(files, settings, cwd=folder).findings
    still = about(fixed.made) & about(after)
    new = about(after) - about(before)
    print(f"  still reported: {sum(still.values())}; new: {dict(Counter(code for code, *_ in new.elements()))}")
    for one in [*still, *new]:
        print(f"    {' '.join(map(str, one))}")
    again = fix(files, settings, cwd=folder, unsafe=any(one.fixable == "unsafe" for one in fixed.made))
    print(f"  a second time changes {len(again.files)} files")
    for finding, why in fixed.left:
        print(f"  left: {finding.code} {finding.path}:{finding.span.line} {why}")


def main() -> None:
    """A table for each package."""
    parser = argparse.ArgumentParser()
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--unsafe-fixes", action="store_true")
    chosen = parser.parse_args()
    for package in (LIGER, FLA, FLAG_GEMS):
        if chosen.packages and package.name not in chosen.packages:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / package.name
            shutil.copytree(fetch(package), folder)
            taken = measure(doctor("check", ".", "--diff", "--exit-zero"), folder)
            print(f"\n{package.name} {package.version}: `check --diff` took {taken.cpu_s:.1f} s of CPU", flush=True)
            fix_copy(folder, chosen.unsafe_fixes)


if __name__ == "__main__":
    main()

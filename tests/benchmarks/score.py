"""The one number that decides features, hints and severities of the static side: found - 5 x false - lines / 100.

It is taken over all truths and labels of the libraries at hand, but those of corpus/truth/sweep_frozen.txt.

- **found** are constexprs and autotune keys that vary per call and are reported at warning or above.
- **false** are fixed constexprs, fixed keys, and findings labelled false, that are reported at warning or above. Of
  few-valued ones the number is printed only.
- **lines** are lines of code, without docstrings, comments and blank lines, of `static/variability` and of the rules
  TRD2xx and TRD3xx.

Only the files with a truth or a label are judged, in this process's workers, by the rules TRD2xx and TRD3xx.
"""

from __future__ import annotations

import ast
import csv
import io
import os
import subprocess
import sys
import time
import tokenize
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.benchmarks.dry_comparison import Share
from tests.benchmarks.packages import CORPUS, ROOT
from tests.benchmarks.seen_values import PACKAGES, TRUTH, library_names, read_truth
from triton_doctor.finding import Finding, Severity, split_cell
from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.settings import Settings
from triton_doctor.static.project.analysis.file_analysis import Analysis, analyze_files
from triton_doctor.static.project.analysis.parts import empty_project
from triton_doctor.static.project.analysis.summaries import summarize_files
from triton_doctor.static.project.cache.scan_cache import NO_SCAN_CACHE
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.database.dependencies import NO_CHANGES
from triton_doctor.static.rules.registry import all_rules, run_checks
from triton_doctor.static.sources.files import find_files
from triton_doctor.static.variability.queries.configs import fold_tuning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.benchmarks.accuracy import Accuracy
    from triton_doctor.static.project.project import Project

STATIC = ROOT / "triton_doctor" / "static"
LABELS = CORPUS / "labels"
FROZEN = TRUTH / "sweep_frozen.txt"
CODES = frozenset(code for code in all_rules() if code.startswith(("TRD2", "TRD3")))
# Each false alarm counts as much as this many found.
FALSE_COST = 5
LINES_PER_POINT = 100

# A finding as `check --output-format json` has it, as far as it is judged.
Judged: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person judged about a finding of a library."""

    code: str
    path: str
    line: int
    kernel: str
    parameter: str
    verdict: str

    def concerns(self, finding: Judged) -> bool:
        """Return whether `finding` is the one that was judged; lines of the library do not move."""
        return (
            finding["code"] == self.code
            and (finding["kernel"] or "") == self.kernel
            and (finding["parameter"] or "") == self.parameter
            and (self.path, self.line) in finding["places"]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One library: its accuracy against the truth, and its labels that are still reported, by verdict."""

    accuracy: Accuracy
    labels: dict[str, Share]
    false_labels: tuple[str, ...]


def frozen_libraries() -> frozenset[str]:
    """Return the names of drivers and packages that no score counts."""
    lines = FROZEN.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def scored_libraries() -> Iterator[tuple[str, str]]:
    """Yield each library with a truth that is not frozen, and the folder of its truth."""
    frozen = frozen_libraries()
    for name in PACKAGES:
        if name.replace("-", "_") not in frozen:
            yield name, ""
    for folder in sorted(path.name for path in TRUTH.iterdir() if path.is_dir()):
        if folder != "predictions" and not folder.endswith("_gpu"):
            for name in library_names(folder):
                if name not in frozen:
                    yield name, folder


def judge_library(library: str, folder: str) -> Scored | None:
    """Score one library; None if it is not at hand."""
    from tests.benchmarks.accuracy import judge

    try:
        truth = read_truth(library, folder)
    except (SystemExit, subprocess.CalledProcessError, FileNotFoundError):
        return None
    labels = read_labels(library, truth.folder)
    paths = {seen.key[0] for seen in (*truth.constexprs, *truth.tuning)}
    findings = predict_files(truth.folder, paths | {label.path for label in labels}, labels)
    known = {seen.key[1:] for seen in (*truth.constexprs, *truth.tuning)}
    reported: dict[str, Share] = {}
    false = []
    for label in labels:
        if (label.kernel, label.parameter) in known:
            continue
        warns = any(one["severity"] != "info" and label.concerns(one) for one in findings)
        if reported.setdefault(label.verdict, Share()).add(holds=warns) and label.verdict == "false":
            false.append(f"{library} labelled false: {label.code} {label.path}:{label.line} {label.parameter}")
    return Scored(accuracy=judge(truth, findings), labels=reported, false_labels=tuple(false))


def predict_files(folder: Path, paths: Iterable[str], labels: Iterable[Label]) -> list[Judged]:
    """Return the findings about kernels in the files `paths` of `folder`, and in those that launch at a label."""
    found: list[Finding] = []
    settings = Settings(root=folder)

    def find(project: Project, path: str) -> tuple[tuple[Finding, ...], tuple[()]]:
        return tuple(fold_tuning(run_checks(project, CODES, path))), ()

    with emptying_scan_caches():
        database = Database(list(find_files([folder], settings, cwd=folder)))
        summaries = summarize_files(database, {}, NO_CHANGES)
        project = empty_project(database, settings, folder)
        homes = set(paths)
        for label in labels:
            if label.path in summaries.by_path:
                homes.update(home for kernels in summaries.by_path[label.path].starts for home, _ in kernels)
        analysis = Analysis(project, database, find, NO_SCAN_CACHE.scan_result, NO_CHANGES, frozenset(homes))
        for result in analyze_files(
            analysis, summaries, [path for path in summaries.by_path if path in homes]
        ).values():
            found += result.found
    return [_as_judged(finding) for finding in found]


def _as_judged(finding: Finding) -> Judged:
    facts = finding.facts
    home = facts.kernel_location
    return {
        "code": finding.code,
        "severity": ("info" if finding.severity is Severity.INFO else "warning"),
        "kernel_path": split_cell(home.path)[0] if home else None,
        "kernel": facts.kernel,
        "parameter": facts.parameter,
        "autotune_keys": facts.autotune_keys,
        "path": finding.path,
        "line": finding.span.line,
        "places": {(finding.path, finding.span.line), *((other.path, other.line) for other in facts.also)},
    }


def read_labels(library: str, folder: Path) -> list[Label]:
    """Return what people judged of the rules TRD2xx and TRD3xx in the checkout or package at `folder`."""
    names = {library.lower(), library.replace("_", "-").lower(), folder.name.lower()}
    labels = []
    for table in sorted(LABELS.glob("heldout*.tsv")):
        with table.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
                name = (row.get("repository") or row.get("package") or "").rpartition("/")[2].lower()
                version = row.get("commit") or row.get("version") or ""
                if row["code"] in CODES and row["line"].isdigit() and (name in names or f"{name}-{version}" in names):
                    labels.append(
                        Label(
                            code=row["code"],
                            path=row["path"],
                            line=int(row["line"]),
                            kernel=row["kernel"] or "",
                            parameter=row["parameter"] or "",
                            verdict={"right": "true", "wrong": "false"}.get(row["verdict"], row["verdict"]),
                        )
                    )
    return labels


def count_lines() -> int:
    """Return the lines of code of `static/variability` and of the rules TRD2xx and TRD3xx."""
    rules = [
        Path(str(sys.modules[rule.check.__module__].__file__)) for code, rule in all_rules().items() if code in CODES
    ]
    files = [*(STATIC / "variability").rglob("*.py"), *rules]
    return sum(code_lines(file.read_text(encoding="utf-8")) for file in files)


def code_lines(source: str) -> int:
    """Return how many lines of `source` hold code."""
    lines: set[int] = set()
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in blank:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def print_score(libraries: Iterable[str], *, details: bool) -> None:
    """Print the score of the libraries that are at hand, and its parts; all of them if `libraries` is empty."""
    chosen = frozenset(libraries)
    every = [(name, folder) for name, folder in scored_libraries() if not chosen or name in chosen]
    began = time.process_time(), os.times().children_user
    with ProcessPoolExecutor(max_workers=2) as workers:
        scored = list(workers.map(judge_library, *zip(*every, strict=True)))
    seconds = time.process_time() - began[0] + os.times().children_user - began[1]
    there = [one for one in scored if one is not None]
    away = [name for (name, _), one in zip(every, scored, strict=True) if one is None]
    total = partial(_total, there)
    lines = count_lines()
    verdicts = sorted({verdict for one in there for verdict in one.labels})
    labels = {verdict: sum((one.labels.get(verdict, Share()) for one in there), Share()) for verdict in verdicts}
    false = total("fixed").part + total("fixed_keys").part + labels.get("false", Share()).part
    found = total("per_call").part + total("keys").part
    if details:
        print(*sorted(line for one in there for line in (*one.accuracy.wrong, *one.false_labels)), sep="\n")
    print(f"libraries at hand {len(there)} of {len(every)}; {seconds:.0f} s of user CPU")
    print(f"not at hand: {', '.join(away) or 'none'}")
    print(f"found: per call {total('per_call')} ({total('noted').part:,} noted), keys {total('keys')}")
    print(f"false: constexprs {total('fixed')}, keys {total('fixed_keys')}, labels {labels.get('false', Share())}")
    print(f"not counted: few {total('few')}, " + ", ".join(f"{word} {share}" for word, share in labels.items()))
    print(f"lines of code: {lines:,}")
    print(f"score: {found} - {FALSE_COST} x {false} - {lines:,}/{LINES_PER_POINT} = {score(found, false, lines):.1f}")


def score(found: int, false: int, lines: int) -> float:
    """Return the number that a change to `variability` may not lower."""
    return found - FALSE_COST * false - lines / LINES_PER_POINT


def _total(scored: Iterable[Scored], part: str) -> Share:
    return sum((getattr(one.accuracy, part) for one in scored), Share())

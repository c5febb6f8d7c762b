"""Where the CPU seconds of one cold scan go, in one process: `python -m tests.benchmarks.stages FOLDER...`."""

from __future__ import annotations

import ast
import gc
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.settings import Settings
from triton_doctor.static.project.analysis.file_analysis import Analysis, analyze_files
from triton_doctor.static.project.analysis.parts import empty_project
from triton_doctor.static.project.analysis.summaries import summarize_files
from triton_doctor.static.project.cache.scan_cache import NO_SCAN_CACHE
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.database.dependencies import NO_CHANGES
from triton_doctor.static.rules.registry import all_rules, find_planned
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.rules import Check

SLOWEST = 5


class Stages:
    """CPU seconds since the stage before, by what was done."""

    def __init__(self) -> None:
        self._last = time.process_time()
        self.seconds: dict[str, float] = {}

    def end(self, name: str) -> None:
        """`name` was done from the end of the stage before until now."""
        now = time.process_time()
        self.seconds[name] = now - self._last
        self._last = now


def timed(code: str, check: Check, seconds: dict[str, float]) -> Check:
    """`check`, which adds what it takes to `seconds`; it is made to find all before the next one begins."""

    def measure(project: Project) -> Iterator[Finding]:
        began = time.process_time()
        found = list(check(project))
        seconds[code] = seconds.get(code, 0.0) + time.process_time() - began
        return iter(found)

    return measure


def parse(database: Database) -> None:
    """Parse, and do no more with, what `check` reads from the start."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in database.subjects():
            if path in database.python:
                with suppress(SyntaxError, ValueError):
                    ast.parse(database.python[path])


def main() -> None:
    """Print the stages, each also as a multiple of what bare `ast.parse` of the same files takes."""
    gc.disable()
    cwd = Path.cwd()
    settings = Settings(root=cwd)
    stages = Stages()
    files = list(find_files([Path(one) for one in sys.argv[1:]], settings, cwd=cwd))
    stages.end("walk")
    database = Database(files)
    stages.end("bytes")
    database.subjects()
    stages.end("what to read")
    parse(database)
    stages.end("bare ast.parse of that")
    summaries = summarize_files(database, {}, NO_CHANGES)
    stages.end("read and link it")
    checks: dict[str, float] = {}
    rules = all_rules()
    for code, rule in list(rules.items()):
        rules[code] = replace(rule, check=timed(code, rule.check, checks))
    find = partial(find_planned, codes=frozenset(rules))
    analysis = Analysis(empty_project(database, settings, cwd), database, find, NO_SCAN_CACHE.scan_result, NO_CHANGES)
    analyze_files(analysis, summaries, summaries.by_path)
    stages.end("check it")
    floor = stages.seconds["bare ast.parse of that"]
    for name, seconds in stages.seconds.items():
        print(f"{name:30} {seconds:8.3f} s CPU {seconds / floor:8.2f}x ast.parse")
    for code, seconds in sorted(checks.items(), key=lambda one: -one[1])[:SLOWEST]:
        print(f"  of it {code:22} {seconds:8.3f} s CPU {seconds / floor:8.2f}x ast.parse")


if __name__ == "__main__":
    main()

"""`triton-doctor sweep PATHS`: finds the entries of a project, asks whether its code may run, and sweeps them."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from triton_doctor.cli.messages import print_hint, print_message
from triton_doctor.cli.prewarm import require_triton
from triton_doctor.cli.progress import show_progress
from triton_doctor.cli.streams import columns_of_stdout, describe_limits, require_output, write_report
from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.explore.entries import Found, find_entries
from triton_doctor.settings import load_settings
from triton_doctor.static.sources.shown_paths import path_shower
from triton_doctor.static.sources.workspace import find_workspace
from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.explore.project_sweep import Swept

INTERRUPTED = 130
# Entries named beside a wrong name.
NEAREST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSweep:
    """What `sweep PATHS` was asked for. `cluster` is the address of a dask cluster."""

    words: tuple[str, ...]
    target: str | None
    jobs: int | None
    is_agreed: bool
    has_sandbox: bool
    has_tests: bool
    examples: tuple[str, ...]
    is_fresh: bool
    cluster: str | None
    output: Path | None
    drivers: Path | None
    force: bool
    is_json: bool
    output_file: Path | None


def sweep_paths(asked: PathSweep) -> None:
    """Sweep the entries below the paths that were asked for, and report."""
    from triton_doctor.explore.kept_answers import results_folder
    from triton_doctor.explore.project_sweep import SweepRequest, sweep_project
    from triton_doctor.explore.sandbox import ALL_MEANS
    from triton_doctor.explore.sweep_report import report
    from triton_doctor.runtime.prewarm.prewarming import count_jobs

    cwd = Path.cwd()
    require_triton([asked.target] if asked.target else ())
    if find_spec("torch") is None:
        raise DoctorError("torch is not installed here", hint="install triton-doctor where torch and triton are")
    for path in (asked.output, asked.drivers):
        if path is not None and path.exists() and not asked.force:
            raise DoctorError(f"{path} is there already", hint="--force replaces it")
    paths, names = _read_words(asked.words)
    require_output(asked.output_file, map(str, paths))
    found = _find(paths, names, cwd)
    named = frozenset(_own_path(found, example, cwd) for example in asked.examples)
    seeds = (*sorted(named), *(file for file in found.seed_files if file not in named and asked.has_tests))
    _confirm(found, seeds, asked)
    request = SweepRequest(
        jobs=count_jobs(asked.jobs),
        means=ALL_MEANS if asked.has_sandbox else (),
        target=asked.target or "",
        seed_files=seeds,
        named_seeds=named,
        wants_tests=asked.drivers is not None,
        results=None if asked.is_fresh else results_folder(),
        cluster=asked.cluster or "",
    )
    with show_progress(len(found.entries), "examples") as advance:

        def show_done(done: int, reached: int) -> None:
            advance(done, f"{reached} of {done} entries reached a launch")

        swept = sweep_project(found, request, on_progress=show_done)
    result = report(found, swept.outcomes, isolation=_isolation(swept), cwd=cwd)
    if asked.output is not None:
        _write_lines(asked.output, result.recording)
    if asked.drivers is not None:
        from triton_doctor.explore.written import write_drivers

        for path in write_drivers(swept.outcomes, asked.drivers, found):
            print_message(f"wrote {path}")
    if asked.is_json:
        document = {**result.to_json(), "is_interrupted": not swept.is_whole, "entries_reused": swept.reused}
        write_report(json.dumps(document, indent=2, allow_nan=False) + "\n", asked.output_file)
    else:
        text = result.to_text(columns_of_stdout(to_file=asked.output_file is not None))
        # It quotes what the project's code raised, which may be anything.
        write_report("".join(f"{escape_line(line)}\n" for line in text.splitlines()), asked.output_file)
    _describe_examples(swept, named)
    if not swept.is_whole:
        print_message("interrupted: the report has what was done until then")
        raise typer.Exit(INTERRUPTED)


def _read_words(words: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Return the paths in `words`, and the names of entries after a colon."""
    paths, names = [], []
    for word in words:
        place, _, name = word.rpartition(":")
        if place and not os.path.lexists(word):
            path = Path(place)
            if not path.exists() and not place.endswith(".py"):
                path = Path(*place.split(".")).with_suffix(".py")
            if not name:
                raise DoctorError(f"{word!r} names no function", hint="write path/to/file.py:function")
            names.append(name)
        else:
            path = Path(word)
        if not path.exists():
            raise DoctorError(f"no such file or folder: {path}", hint="name a folder, a file, or file.py:function")
        paths.append(path)
    if names and len(names) < len(words):
        raise DoctorError("some of what is named are entries, others are not", hint="sweep them one after the other")
    return paths, names


def _find(paths: Sequence[Path], names: Sequence[str], cwd: Path) -> Found:
    """Return the entries; raise DoctorError where there are none."""
    workspace = find_workspace(paths, load_settings(cwd / paths[0]), cwd=cwd)
    describe_limits(workspace, [str(path) for path in paths])
    found = find_entries(workspace, names=names)
    shown = ", ".join(map(str, paths))
    for name in names:
        if not any(entry.name == name for entry in found.entries):
            others = find_entries(workspace)
            known = [entry.name for entry in others.entries]
            near = get_close_matches(name, known, NEAREST, cutoff=0.4) or known[:NEAREST]
            hint = f"entries there: {', '.join(near)}" if near else "it has none: nothing there launches a kernel"
            raise DoctorError(f"{shown} has no entry called {name!r} that leads to a launch", hint=hint)
    if found.entries:
        return found
    if found.left_out:
        first = found.left_out[0]
        raise DoctorError(
            f"no entry in {shown}: {first.name} is left out: it {first.reason}",
            hint=f"name it to sweep it all the same: {path_shower(found.root, cwd)(first.path)}:{first.name}",
        )
    raise DoctorError(f"nothing in {shown} launches a Triton kernel", hint="name the folder of the code that does")


def _own_path(found: Found, example: str, cwd: Path) -> str:
    """Return the path, relative to the project, of the file in `ENTRY=FILE` or `FILE`."""
    entry, _, file = example.rpartition("=")
    path = Path(os.path.abspath(cwd / file))  # noqa: PTH100
    if not path.is_file():
        raise DoctorError(f"no file: {file}", hint="--example ops.py:decode=tests/test_decode.py")
    name = entry.rpartition(":")[2]
    if name and not any(name in (each.name, each.name.partition(".")[0]) for each in found.entries):
        near = get_close_matches(name, [each.name for each in found.entries], NEAREST, cutoff=0.4)
        raise DoctorError(f"no entry is called {name!r}", hint=f"near it: {', '.join(near)}" if near else None)
    if not path.is_relative_to(found.root):
        raise DoctorError(f"{file} is not in the project, {found.root}", hint="copy it there: only its files are run")
    return path.relative_to(found.root).as_posix()


def _confirm(found: Found, seeds: Sequence[str], asked: PathSweep) -> None:
    """Print what will run, and continue only if the user agrees. Raises DoctorError without a terminal."""
    entries = f"{len(found.entries):,} {'entry' if len(found.entries) == 1 else 'entries'}"
    tests = f" and {len(seeds):,} test or example file{'s' * (len(seeds) != 1)}" if seeds else ""
    means = "in a sandbox, without network" if asked.has_sandbox else "WITHOUT a sandbox, with your rights"
    sentence = f"this imports and runs code of {found.root}: {entries}{tests}, dry, {means}"
    if asked.is_agreed or os.environ.get("CI") == "true":
        print_message(sentence)
    elif sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        if not typer.confirm(f"{sentence}. Go on?", err=True):
            raise typer.Exit(2)
    else:
        raise DoctorError(f"nothing was run: {sentence}", hint="--yes agrees to that")


def _isolation(swept: Swept) -> str:
    return "nothing ran: all results are of earlier sweeps" if swept.walls is None else str(swept.walls)


def _describe_examples(swept: Swept, named: frozenset[str]) -> None:
    for path, problem in swept.examples.problems.items():
        if path in named:
            print_message(f"{path} gave no example to its end: {problem}")
            print_hint("run it with `triton-doctor run --dry -- python -m pytest FILE` to see more")


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    try:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise DoctorError(f"cannot write {path}: {reason_of(error)}", hint="-o names a file") from error

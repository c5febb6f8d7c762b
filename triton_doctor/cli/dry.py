"""`check --dry`: a command runs dry, and what it recorded judges the findings."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.cli.messages import print_message
from triton_doctor.errors import DoctorError
from triton_doctor.runtime.kept_runs import PROJECT_MARKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TESTS = ("-m", "pytest")
# What makes pytest excuse tests that fail for want of values; for each pytest that the command starts.
PYTEST_OPTIONS, DRY_PYTEST = "PYTEST_ADDOPTS", "--triton-doctor-dry"


def record_dry(command: Sequence[str], paths: Sequence[str] = ()) -> tuple[Path, ...]:
    """Run `command` dry, the tests of the working directory where it is empty, and return what it recorded.

    What it prints goes to stderr. That it fails is said: what it did not reach is not judged. Raises DoctorError where
    it cannot be started, or is empty and one of `paths` is in another project.
    """
    from triton_doctor.run_command import run_command

    if not command:
        _require_one_project(paths)
    folder = tempfile.mkdtemp(prefix="triton-doctor-dry-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    output = Path(folder, "dry.jsonl")
    words = tuple(command) or TESTS
    with _output_to_stderr(), _pytest_runs_dry(words):
        status = run_command(["--dry", "-o", str(output), "--", *words], report=False)
    if status:
        print_message(
            f"{' '.join(words)[:80]} ended with status {status}: findings that it did not reach are not judged"
        )
    return (output,) if output.exists() else ()


def _require_one_project(paths: Sequence[str]) -> None:
    cwd = Path.cwd()
    for path in paths:
        near = (cwd / path).resolve()
        root = next((up for up in (near, *near.parents) if any((up / mark).exists() for mark in PROJECT_MARKS)), cwd)
        if not cwd.is_relative_to(root):
            raise DoctorError(
                f"{path} is in the project {root}, and --dry runs the tests of the working directory",
                hint=f"cd {shlex.quote(str(root))}, or give the command after --, such as `-- -m pytest tests/`",
            )


@contextmanager
def _output_to_stderr() -> Iterator[None]:
    """Send stdout to stderr inside the context, so that stdout has the report only."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def _pytest_runs_dry(words: Sequence[str]) -> Iterator[None]:
    from triton_doctor.runtime.launch.command import resolve

    before = os.environ.get(PYTEST_OPTIONS)
    # Another Python may not have our plugin.
    if resolve(words)[0] == sys.executable and "pytest" in (Path(word).name for word in words[:2]):
        os.environ[PYTEST_OPTIONS] = " ".join(filter(None, [before, DRY_PYTEST]))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(PYTEST_OPTIONS, None)
        else:
            os.environ[PYTEST_OPTIONS] = before

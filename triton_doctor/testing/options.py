"""The plugin's options: flags, or settings of the ini file where a flag is not given."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.testing.dry import read_seconds

if TYPE_CHECKING:
    import argparse

    import pytest

GROUP = "triton-doctor"
METAVARS = {
    "max-compiles": "N",
    "target": "TARGET",
    "dry-unknown": "guess|stop",
    "dry-writes": "overlay|allow",
    "dry-seconds": "S",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`hands_out`: this process runs no test, its workers do. Paths are absolute. `dry_seconds` limits each test."""

    max_compiles: int | None = None
    summary: bool = False
    report: Path | None = None
    target: str | None = None
    baseline: Path | None = None
    update_baseline: bool = False
    dry: bool = False
    dry_unknown: str = "guess"
    dry_writes: str = "overlay"
    dry_seconds: float = 0.0
    hands_out: bool = False


def add_options(parser: pytest.Parser) -> None:
    """Declare flags and ini settings; a flag's default is None, which means that the ini setting counts."""
    group = parser.getgroup(GROUP, "compiles of Triton kernels")
    group.addoption("--triton-doctor", action="store_true", default=None, help="tell what each test compiled")
    for name, meaning in (
        ("max-compiles", "how often each kernel may compile in a test that has no max_compiles mark"),
        ("report", "write a recording, which `triton-doctor report` reads"),
        ("target", "compile for this target without a GPU, and run nothing: cuda:90, hip:gfx942"),
        ("baseline", "fail on what compiles and is not in this file"),
        ("dry-unknown", "where a dry run needs data: guess (as without), or stop the test"),
        ("dry-writes", "whether a dry run leaves files that are there as they are: overlay (as without), or allow"),
        ("dry-seconds", "how long each test may take in a dry run, 60 seconds without"),
    ):
        metavar = METAVARS.get(name, "FILE")
        group.addoption(f"--triton-doctor-{name}", default=None, metavar=metavar, help=meaning)
        parser.addini(f"triton_doctor_{name.replace('-', '_')}", f"{meaning} (as the flag)", default=None)
    group.addoption(
        "--triton-doctor-dry",
        action="store_true",
        default=None,
        help="run the tests without a GPU, without data and without compiling",
    )
    group.addoption(
        "--triton-doctor-update-baseline", action="store_true", default=None, help="write the baseline instead"
    )


def read_options(flags: argparse.Namespace, config: pytest.Config) -> Options:
    """Read the options from flags, or from the ini file where a flag is missing.

    Raises DoctorError for invalid ones.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    baseline, update = _path("baseline", flags, config), bool(flags.triton_doctor_update_baseline)
    if update and baseline is None:
        raise DoctorError(
            "--triton-doctor-update-baseline names no file", hint="add --triton-doctor-baseline=compiles.json"
        )
    report = _path("report", flags, config)
    if worker is not None and report is not None:
        report = report_of_worker(report, worker)
    return Options(
        max_compiles=_count(_value("max_compiles", flags, config)),
        summary=bool(flags.triton_doctor),
        report=report,
        target=_value("target", flags, config),
        baseline=baseline,
        update_baseline=update,
        dry=bool(flags.triton_doctor_dry),
        dry_unknown=_value("dry_unknown", flags, config) or "guess",
        dry_writes=_value("dry_writes", flags, config) or "overlay",
        dry_seconds=read_seconds(_value("dry_seconds", flags, config)),
        hands_out=worker is None and bool(getattr(flags, "numprocesses", None) or getattr(flags, "tx", None)),
    )


def report_of_worker(report: Path, worker: str) -> Path:
    """Return the file in which a pytest-xdist worker records, until all are merged into `report`."""
    return report.with_name(f"{report.stem}.{worker}{report.suffix}")


def _value(name: str, flags: argparse.Namespace, config: pytest.Config) -> str | None:
    given = getattr(flags, f"triton_doctor_{name}")
    return str(given) if given is not None else config.getini(f"triton_doctor_{name}") or None


def _path(name: str, flags: argparse.Namespace, config: pytest.Config) -> Path | None:
    """Return an option as a path: a flag is relative to the invocation folder, an ini setting to the project root."""
    given = getattr(flags, f"triton_doctor_{name}")
    if given is not None:
        return Path(config.invocation_params.dir, given)
    written = config.getini(f"triton_doctor_{name}")
    return Path(config.rootpath, written) if written else None


def _count(text: str | None) -> int | None:
    if text is None or text.isdecimal():
        return None if text is None else int(text)
    raise DoctorError(f"triton_doctor_max_compiles is {text!r}", hint="give a whole number, 0 or more")

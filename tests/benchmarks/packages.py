"""The packages that everything is measured on, fetched from the package index into a cache folder, never committed."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent.parent
# Data about other people's libraries: its README has what.
CORPUS = ROOT / "fixtures" / "corpus"
CACHE = Path(os.environ.get("TRITON_DOCTOR_TEST_CACHE", "~/.cache/triton-doctor-tests")).expanduser()


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """A release on the package index."""

    name: str
    version: str

    @property
    def folder(self) -> Path:
        """Where its wheel lies unpacked, once it was fetched."""
        return CACHE / "packages" / f"{self.name}-{self.version}"


LIGER = Package("liger-kernel", "0.8.5")
FLA = Package("fla-core", "0.5.2")
FLAG_GEMS = Package("flag-gems", "5.0.2")
SGLANG = Package("sglang", "0.5.23")
PACKAGES = (LIGER, FLA, FLAG_GEMS, SGLANG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a whole process took, its children included, and what it printed."""

    cpu_s: float
    wall_s: float
    stdout: str


def fetch(package: Package) -> Path:
    """The folder with `package` unpacked; a second call finds it there."""
    if not package.folder.is_dir():
        wheels = CACHE / "wheels" / f"{package.name}-{package.version}"
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", wheels)
        subprocess.run([*pip, f"{package.name}=={package.version}"], check=True)
        unfinished = package.folder.with_name(f"{package.folder.name}.unfinished")
        with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
            wheel.extractall(unfinished)
        unfinished.rename(package.folder)
    return package.folder


def measure(command: Sequence[str | Path], cwd: Path) -> Measured:
    """Run `command` to its end. Raises CalledProcessError when it fails: a crash is not to be taken for speed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(cpu_s=cpu_s, wall_s=wall_s, stdout=process.stdout)


def doctor(*arguments: str | Path) -> list[str | Path]:
    """The command that runs this checkout."""
    return [sys.executable, "-m", "triton_doctor", *arguments]


def check(package: Package) -> tuple[dict[str, Any], Measured]:
    """What `check --output-format json` says of `package`; its paths are relative to the unpacked wheel."""
    measured = measure(doctor("check", ".", "--no-cache", "--output-format", "json", "--exit-zero"), fetch(package))
    return json.loads(measured.stdout), measured

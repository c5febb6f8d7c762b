"""A kernel, its launch, and the size that it is given, for the tests of the cache; and what a scan finds in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from pathlib import Path

    from triton_doctor.finding import Finding, Undecided
    from triton_doctor.static.project.cache.scan_cache import ScanStore

KERNEL = """\
import triton
import triton.language as tl

@triton.jit
def kernel(x, N: tl.constexpr):
    tl.store(x, N)
"""
LAUNCH = """\
from kernels import kernel
from sizes import size

def launch(x, rows):
    kernel[(1,)](x, size(rows))
"""
VARYING = "def size(rows):\n    return rows.item()\n"
FIXED = "def size(rows):\n    return 16\n"
PROJECT = {"kernels.py": KERNEL, "launch.py": LAUNCH, "sizes.py": VARYING}


def found(folder: Path, cache: ScanStore | None) -> tuple[tuple[Finding, ...], tuple[Undecided, ...]]:
    chosen = Settings(root=folder)
    seen = scan(list(find_files([folder], chosen, cwd=folder)), chosen, cwd=folder, cache=cache)
    return seen.findings, seen.undecided

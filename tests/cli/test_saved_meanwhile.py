"""What is saved while `check` runs is neither edited by an old plan nor overwritten."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from triton_doctor.cli import checking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n: tl.constexpr, unused: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 0, mask=at < n)
"""
LAUNCH = """

def run(x, lens: list[int]):
    n = max(lens)
    fill[(1,)](x, n, n, BLOCK=64)
"""
# The user puts another kernel, which needs `n` while it compiles, where the first one was.
SAVED = KERNEL.replace("fill", "loop").replace("mask=at < n", "0") + "    tl.static_range(n)\n\n\n" + KERNEL + LAUNCH


@pytest.fixture
def save_during_scan(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, str], None]:
    """Save a file as soon as the scan tells of its progress, when it has read the files."""

    def arrange(path: Path, text: str) -> None:
        @contextmanager
        def show_progress(total: int) -> Iterator[Callable[[int], None]]:
            yield lambda done: None if path.read_text() == text else _save(path, text)

        monkeypatch.setattr(checking, "show_progress", show_progress)

    return arrange


def _save(path: Path, text: str) -> None:
    path.write_text(text)


@pytest.mark.parametrize(
    "flags", [("--fix",), ("--fix", "--unsafe-fixes"), ("--add-ignore",), ("--write-baseline",)], ids=" ".join
)
def test_file_saved_during_the_scan_stays_as_it_was_saved(
    doctor: Doctor, write: Write, save_during_scan: Callable[[Path, str], None], flags: tuple[str, ...]
) -> None:
    path = write("a.py", KERNEL + LAUNCH)
    save_during_scan(path, SAVED)

    outcome = doctor("check", *flags, "--no-cache", ".")

    assert path.read_text() == SAVED
    assert "changed" in outcome.err or "written" in outcome.err


def test_file_saved_after_a_cached_scan_judged_it_is_not_edited(
    doctor: Doctor, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The findings come from the cache; the file is read for the fix alone, and is another by then."""
    path = write("a.py", KERNEL + LAUNCH)
    os.utime(path, ns=(10**18, 10**18))
    from triton_doctor.static.sources import contents

    monkeypatch.setattr(contents, "_MARGIN_NS", -(10**12))
    doctor("check", ".")
    after_status = contents.FileContents.add

    def add(self: Any, file: Any) -> None:
        after_status(self, file)
        path.write_text(SAVED)

    monkeypatch.setattr(contents.FileContents, "add", add)

    outcome = doctor("check", "--fix", ".")

    assert path.read_text() == SAVED
    assert "changed" in outcome.err


def test_file_saved_right_before_it_is_replaced_is_left_with_all_of_its_fix(
    doctor: Doctor, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's file is written first; its launch was saved meanwhile, so neither is changed."""
    kernel = write("a.py", KERNEL)
    launch = write("b.py", "from a import fill\n" + LAUNCH)
    make = tempfile.mkstemp
    count = 0

    def mkstemp(*arguments: Any, **named: Any) -> tuple[int, str]:
        nonlocal count
        count += 1
        if count == 2:
            launch.write_text("from a import fill\n# mine\n" + LAUNCH)
        return make(*arguments, **named)

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)

    outcome = doctor("check", "--fix", "--select", "TRD202", "--no-cache", ".")

    assert kernel.read_text() == KERNEL
    assert launch.read_text() == "from a import fill\n# mine\n" + LAUNCH
    assert "a.py is left as it is" in outcome.err
    assert "b.py is left as it is" in outcome.err


def test_baseline_saved_meanwhile_is_not_overwritten(
    doctor: Doctor, write: Write, save_during_scan: Callable[[Path, str], None], folder: Path
) -> None:
    write("a.py", KERNEL + LAUNCH)
    doctor("check", "--write-baseline", ".")
    baseline = folder / "triton-doctor-baseline.json"
    theirs = baseline.read_text().replace("\n", "\n\n")
    save_during_scan(baseline, theirs)

    outcome = doctor("check", "--write-baseline", "--no-cache", ".")

    assert (outcome.status, baseline.read_text()) == (2, theirs)
    assert "changed meanwhile" in outcome.err


def test_file_with_two_names_stays_one_file(doctor: Doctor, write: Write, folder: Path) -> None:
    path = write("a.py", KERNEL + LAUNCH)
    (folder / "other.txt").hardlink_to(path)

    doctor("check", "--fix", "--unsafe-fixes", "--no-cache", ".")

    assert "unused" not in path.read_text()
    assert path.samefile(folder / "other.txt")

"""Which files a scan need not read: those whose status could not be what it is had they changed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.sources import contents as texts_module
from triton_doctor.static.sources.contents import NO_STAMPS, FileContents, FileStamps
from triton_doctor.static.sources.files import FileKind, SourceFile

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there no status tells of all changes")


def look(file: Path, seen: FileStamps = NO_STAMPS) -> FileContents:
    texts = FileContents(seen)
    texts.add(SourceFile(str(file), "a.py", FileKind.PYTHON))
    return texts


def empty(file: Path) -> Path:
    file.write_bytes(b"")
    return file


@pytest.fixture
def aged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that was written longer ago than a clock may not tell."""
    monkeypatch.setattr(texts_module, "_MARGIN_NS", 20_000_000)
    file = folder / "a.py"
    file.write_bytes(b"before")
    time.sleep(0.03)
    return file


def test_file_as_it_was_is_read_when_it_is_asked_for(aged: Path) -> None:
    seen = look(aged).seen()
    texts = look(aged, seen)
    aged.write_bytes(b"between")

    assert texts.size("a.py") == len(b"before")
    assert texts["a.py"] == b"between"


def test_file_that_changes_during_a_scan_is_another_for_the_next(aged: Path) -> None:
    seen = look(aged).seen()
    texts = look(aged, seen)
    aged.unlink()

    assert texts["a.py"] == b""
    assert texts.seen().digests["a.py"] not in (seen.digests["a.py"], look(empty(aged)).seen().digests["a.py"])


def test_content_decides_where_the_status_is_another(aged: Path) -> None:
    seen = look(aged).seen()
    aged.touch()

    assert look(aged, seen).seen().digests == seen.digests


def test_change_of_the_same_size_shows_though_the_time_is_set_back(aged: Path) -> None:
    before = aged.stat()
    seen = look(aged).seen()
    aged.write_bytes(b"behind")
    os.utime(aged, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert look(aged, seen)["a.py"] == b"behind"


def test_status_of_a_file_just_written_is_not_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "_MARGIN_NS", 10**15)
    file = folder / "a.py"
    file.write_bytes(b"before")

    assert look(file).seen().statuses == {}


def test_file_said_to_be_from_the_future_is_not_trusted(aged: Path) -> None:
    later = time.time_ns() + 10**12
    os.utime(aged, ns=(later, later))
    time.sleep(0.03)

    assert look(aged).seen().statuses == {}

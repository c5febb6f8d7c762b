"""Files that a repository brings are read whole, or refused: none blocks, and none is without an end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import KERNEL
from triton_doctor.machine.cache_entries import read_entries
from triton_doctor.regular_files import (
    LIMIT_BYTES,
    NotRegularError,
    TooLargeError,
    file_holds,
    read_head,
    read_named_file,
    read_regular_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

PIPE_AND_DEVICE = [pytest.param(os.mkfifo, id="a FIFO"), pytest.param(lambda at: at.symlink_to("/dev/zero"), id="zero")]


@pytest.mark.parametrize("make", PIPE_AND_DEVICE)
def test_what_is_no_regular_file_is_refused(folder: Path, make: Callable[[Path], None]) -> None:
    make(folder / "a.py")

    with pytest.raises(NotRegularError):
        read_regular_file(folder / "a.py")
    with pytest.raises(NotRegularError):
        read_head(folder / "a.py", 10)
    assert not file_holds(folder / "a.py", b"")


def test_folder_is_no_regular_file(folder: Path) -> None:
    with pytest.raises(NotRegularError):
        read_regular_file(folder)


@pytest.mark.parametrize(
    "size", [pytest.param(0, id="empty"), pytest.param(10, id="small"), pytest.param(LIMIT_BYTES, id="at the limit")]
)
def test_regular_file_is_read_whole(write: Write, size: int) -> None:
    path = write("a.py", b"#" * size)

    assert read_regular_file(path) == read_named_file(path) == b"#" * size


def test_file_beyond_the_limit_is_refused(write: Write) -> None:
    path = write("a.py", b"#" * (LIMIT_BYTES + 1))

    with pytest.raises(TooLargeError, match="more than 8 MB"):
        read_regular_file(path)
    with pytest.raises(TooLargeError):
        read_named_file(path)
    assert read_head(path, 3) == b"###"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_file_that_does_not_tell_its_size_is_read_whole() -> None:
    assert read_regular_file("/proc/self/status").startswith(b"Name:")


def test_pipe_that_the_command_line_names_is_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with subprocess.Popen([sys.executable, "-c", "open('pipe', 'w').write('A=1')"]):
        assert read_named_file(folder / "pipe") == b"A=1"


@pytest.mark.parametrize("make", PIPE_AND_DEVICE)
def test_pipes_and_devices_beside_a_program_change_nothing(
    doctor: Doctor, write: Write, folder: Path, make: Callable[[Path], None]
) -> None:
    write("a.py", KERNEL)
    alone = doctor("check", "--no-cache", "--output-format", "concise")
    for name in ("b.py", "c.yml", ".gitignore"):
        make(folder / name)

    assert doctor("check", "--no-cache", "--output-format", "concise") == alone
    assert alone.out.startswith("a.py:14:16: ")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        pytest.param(os.mkfifo, "not a regular file", id="a FIFO"),
        pytest.param(lambda at: at.symlink_to("/dev/zero"), "not a regular file", id="zero"),
        pytest.param(lambda at: at.write_bytes(b"#" * (LIMIT_BYTES + 1)), "more than 8 MB", id="too large"),
        pytest.param(lambda at: at.symlink_to(at.name), "too many levels of symbolic links", id="a circle"),
    ],
)
@pytest.mark.parametrize("above", [True, False], ids=["above", "in the folder"])
def test_gitignore_that_cannot_be_read_is_told(
    write: Write, folder: Path, make: Callable[[Path], None], reason: str, above: bool
) -> None:
    write("sub/a.py", KERNEL)
    (folder / ".git").mkdir()
    make(folder / ("" if above else "sub") / ".gitignore")
    command = [sys.executable, "-m", "triton_doctor", "check", "--no-cache", "--output-format", "concise", "sub"]

    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    assert done.stdout.startswith("sub/a.py:14:16: ")
    (line,) = done.stderr.splitlines()
    assert line.startswith("triton-doctor: ")
    assert line.endswith(f".gitignore is not read, so nothing is left out by it: {reason}")


@pytest.mark.parametrize("make", PIPE_AND_DEVICE)
def test_pipe_or_device_given_by_name_is_told_and_the_others_are_checked(
    doctor: Doctor, write: Write, folder: Path, make: Callable[[Path], None]
) -> None:
    write("a.py", KERNEL)
    make(folder / "f.py")

    outcome = doctor("check", "f.py", "a.py", "--output-format", "concise")

    assert "f.py:1:1: warning: TRD900 this file was not checked: not a regular file" in outcome.out
    assert "a.py:14:16: " in outcome.out


@pytest.mark.parametrize("make", PIPE_AND_DEVICE)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("pyproject.toml", ["check"], id="settings"),
        pytest.param("known.json", ["check", "--baseline", "known.json"], id="baseline"),
    ],
)
def test_configuration_that_is_a_pipe_or_device_ends_with_one_line(
    doctor: Doctor, write: Write, folder: Path, make: Callable[[Path], None], name: str, arguments: list[str]
) -> None:
    write("a.py", KERNEL)
    make(folder / name)

    outcome = doctor(*arguments)

    assert outcome.status == 2
    assert f"{name} cannot be read: not a regular file" in outcome.err.splitlines()[0]


def test_file_of_variables_without_an_end_is_refused(doctor: Doctor) -> None:
    outcome = doctor("env", "--env-file", "/dev/zero")

    assert outcome.status == 2
    assert outcome.err.splitlines()[0] == "triton-doctor: /dev/zero cannot be read: more than 8 MB"


def test_cache_entry_with_a_pipe_for_metadata_is_listed_without_its_target(folder: Path) -> None:
    entry = folder / ("A" * 52)
    entry.mkdir()
    (entry / "__grp__k.json").write_text(json.dumps({"child_paths": {}}))
    os.mkfifo(entry / "k.json")

    assert [(one.kernel, one.target) for one in read_entries(folder)] == [("k", None)]

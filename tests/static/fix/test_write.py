"""Files on disk: replaced whole, with the mode and the link that they had, and never over a newer state."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.fix.text import unified_diff
from triton_doctor.static.fix.write import Edited, write_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_mode_stays(write: Callable[..., Path]) -> None:
    path = write("a.py", "old")
    path.chmod(0o751)

    assert write_all({"a.py": Edited(path, b"old", b"new")}, []) == ()

    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o751)
    assert os.listdir(path.parent) == ["a.py"]  # noqa: PTH208


def test_link_stays_a_link(write: Callable[..., Path], folder: Path) -> None:
    target, link = write("real/a.py", "old"), folder / "a.py"
    link.symlink_to("real/a.py")

    write_all({"a.py": Edited(link, b"old", b"new")}, [])

    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_file_that_changed_meanwhile_is_left_alone_with_all_that_goes_with_it(write: Callable[..., Path]) -> None:
    paths = {name: write(name, "old") for name in ("a.py", "b.py", "c.py", "d.py")}
    paths["a.py"].write_bytes(b"newer")
    files = {name: Edited(path, b"old", b"new") for name, path in paths.items()}

    left = write_all(files, [("a.py", "b.py"), ("b.py", "c.py"), ("d.py",)])

    assert left == ("a.py", "b.py", "c.py")
    assert [path.read_bytes() for path in paths.values()] == [b"newer", b"old", b"old", b"new"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_file_that_may_not_be_written_is_an_error_before_any_is(write: Callable[..., Path]) -> None:
    first, locked = write("a.py", "old"), write("b.py", "old")
    locked.chmod(0o444)

    with pytest.raises(PermissionError):
        write_all({"a.py": Edited(first, b"old", b"new"), "b.py": Edited(locked, b"old", b"new")}, [])

    assert first.read_bytes() == b"old"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_that_may_not_be_written_is_an_error(write: Callable[..., Path], folder: Path) -> None:
    path = write("locked/a.py", "old")
    path.parent.chmod(0o500)

    with pytest.raises(PermissionError):
        write_all({"a.py": Edited(path, b"old", b"new")}, [])
    path.parent.chmod(0o700)


def test_error_of_a_full_disk_names_the_file(write: Callable[..., Path]) -> None:
    path = write("a.py", "old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # fails as a full disk does: without a file name
    try:
        with pytest.raises(OSError) as caught:  # noqa: PT011, which one depends on the system
            write_all({"a.py": Edited(path, b"old", b"new")}, [])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"


def test_diff_quotes_odd_names_as_git_does(tmp_path: Path) -> None:
    name = 'a\nb"\\é.py'
    (tmp_path / name).write_bytes(b"x\n")
    patch = unified_diff(name, b"x\n", b"y\n")

    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, text=True, check=True)

    assert (tmp_path / name).read_bytes() == b"y\n"

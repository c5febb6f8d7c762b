"""Which files are read, of all that lie below the paths that were asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.errors import DoctorError
from triton_doctor.settings import Settings
from triton_doctor.static.project.database.roles import Role, imported_sources, imported_words, role_of
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from collections.abc import Callable

    Write = Callable[..., Path]


def found(folder: Path, *paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    settings = Settings(root=folder, exclude=exclude)
    return [file.shown for file in find_files([Path(path) for path in paths or (".",)], settings, cwd=folder)]


@pytest.mark.parametrize(
    ("gitignore", "files", "kept"),
    [
        pytest.param(
            "*_gen.py", ["a.py", "b_gen.py", "x/c_gen.py"], ["a.py"], id="a pattern without a slash, anywhere"
        ),
        pytest.param("/b.py", ["b.py", "x/b.py"], ["x/b.py"], id="a leading slash, here only"),
        pytest.param("x/", ["a.py", "x/b.py", "y/x/c.py"], ["a.py"], id="a folder"),
        pytest.param("*.py\n!keep.py", ["a.py", "keep.py"], ["keep.py"], id="a later pattern takes back"),
        pytest.param("# a.py\n\n", ["a.py"], ["a.py"], id="comments and blank lines"),
        pytest.param("[z-a].py\n!\nb.py", ["a.py", "b.py"], ["a.py"], id="a line that is no pattern"),
        pytest.param(b"\xff\xfe\nb.py", ["a.py", "b.py"], ["a.py"], id="bytes that are no text"),
    ],
)
def test_gitignore_is_respected(
    folder: Path, write: Write, gitignore: str | bytes, files: list[str], kept: list[str]
) -> None:
    write(".gitignore", gitignore)
    for name in files:
        write(name)

    assert found(folder) == kept


def test_gitignore_of_an_inner_folder_holds_below_it_and_wins(folder: Path, write: Write) -> None:
    write(".gitignore", "*_gen.py")
    write("x/.gitignore", "!wanted_gen.py\nb.py")
    for name in ("b.py", "x/b.py", "x/wanted_gen.py", "wanted_gen.py"):
        write(name)

    assert found(folder) == ["b.py", "x/wanted_gen.py"]


def test_gitignore_above_counts_up_to_the_root_of_the_repository(folder: Path, write: Write) -> None:
    write(".gitignore", "beyond.py")
    write("repo/.git/HEAD")
    write("repo/.gitignore", "generated.py")
    for name in ("beyond.py", "generated.py", "kept.py"):
        write(f"repo/src/{name}")

    assert found(folder, "repo/src") == ["repo/src/beyond.py", "repo/src/kept.py"]


def test_ignored_folder_is_entered_when_it_is_given_by_name(folder: Path, write: Write) -> None:
    write(".git/HEAD")
    write(".gitignore", "cache/\n")
    for name in ("cache/package/a.py", "build/b.py", "third_party/c.py"):
        write(name)

    assert found(folder, ".", exclude=("third_party/",)) == []
    assert found(folder, "cache/package", "build", "third_party", exclude=("third_party/",)) == [
        "cache/package/a.py",
        "build/b.py",
        "third_party/c.py",
    ]


def test_exclude_is_relative_to_the_settings_and_no_gitignore_undoes_it(folder: Path, write: Write) -> None:
    write("x/.gitignore", "!b.py")
    for name in ("x/b.py", "x/c.py", "y/x/b.py"):
        write(name)

    assert found(folder, exclude=("/x/b.py",)) == ["x/c.py", "y/x/b.py"]


def test_file_given_by_name_is_always_read_and_only_once(folder: Path, write: Write) -> None:
    write(".gitignore", "*")
    for name in ("script", "a.py", "notes.txt"):
        write(name)

    assert found(folder, "script", "./a.py", "a.py", ".") == ["script", "a.py"]


@pytest.mark.parametrize("name", [".venv", "node_modules", "__pycache__", "site-packages", "build", ".git"])
def test_folders_of_others_are_not_entered(folder: Path, write: Write, name: str) -> None:
    write(f"x/{name}/a.py")
    write("x/b.py")

    assert found(folder) == ["x/b.py"]


def test_path_outside_the_working_directory_stays_absolute(folder: Path, write: Write) -> None:
    outside = write("outside.py")
    inner = folder / "inner"
    inner.mkdir()

    assert found(inner, "../outside.py") == [outside.as_posix()]


def test_links_that_go_round_end(folder: Path, write: Write) -> None:
    write("x/a.py")
    (folder / "x" / "round").symlink_to(folder)
    (folder / "x" / "self.py").symlink_to(folder / "x" / "self.py")
    (folder / "x" / "b.py").symlink_to(folder / "x" / "a.py")

    assert found(folder) == ["x/a.py", "x/b.py"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
def test_folder_that_may_not_be_entered_is_passed_over(folder: Path, write: Write) -> None:
    write("closed/a.py").parent.chmod(0)
    write("b.py")

    assert found(folder) == ["b.py"]


def test_missing_path_is_an_error(folder: Path) -> None:
    with pytest.raises(DoctorError, match=r"there is no file or folder gone\.py"):
        found(folder, "gone.py")


@pytest.mark.parametrize(
    ("data", "role"),
    [
        pytest.param(b"@triton.jit", Role.SUBJECT, id="defines a kernel"),
        pytest.param(b"@ours.kernel\ndef f(N: ours.constexpr): ...", Role.SUBJECT, id="its own decorator"),
        pytest.param(b"import triton\nadd[grid](x)", Role.SUBJECT, id="names Triton and launches"),
        pytest.param(b"import triton\nt = time() - time()", Role.SUBJECT, id="names Triton and reads a clock twice"),
        pytest.param(
            b"from time import perf_counter as now\nnow() - now()  # of triton",
            Role.SUBJECT,
            id="a clock by another name",
        ),
        pytest.param(b"from time import (\n    time as now,\n)  # triton", Role.SUBJECT, id="imported over lines"),
        pytest.param(b"import triton\nk.run(x, grid=g)", Role.SUBJECT, id="launches by a method"),
        pytest.param(b"from triton import (\n    a, jit\n)\n@jit", Role.SUBJECT, id="imports jit"),
        pytest.param(b"import triton.runtime as r\n@r.jit", Role.SUBJECT, id="has a name for triton"),
        pytest.param(b"from a.gluon import jit as j  # of triton\n@j", Role.SUBJECT, id="has a name for jit"),
        pytest.param(b"T(per_device_train_batch_size=4)", Role.SUBJECT, id="says the size of a batch"),
        pytest.param(b"x  # triton-doctor: ignore[TRD201]", Role.SUBJECT, id="has a word for us"),
        pytest.param(b"os.environ[name('TRITON_INTERPRET')]", Role.SETTER, id="names a variable of Triton"),
        pytest.param(b"add_kernel[grid](x, y)", Role.LAUNCHER, id="calls a subscript"),
        pytest.param(b"from .triton_ops import add\nadd(x)", Role.CALLER, id="names Triton"),
        pytest.param(b"t = time()  # of triton", Role.CALLER, id="names Triton and reads a clock"),
        pytest.param(b"# at the same time as triton", Role.CALLER, id="speaks of time"),
        pytest.param(b"@cute.jit  # as triton does", Role.CALLER, id="another jit"),
        pytest.param(b"p.run(x)  # triton", Role.CALLER, id="runs something else"),
        pytest.param(b"import torch\n\nx = f(a[0])", Role.BYSTANDER, id="none of these"),
        pytest.param(b"", Role.BYSTANDER, id="empty"),
    ],
)
def test_role_of_a_file_is_told_from_its_bytes(data: bytes, role: Role) -> None:
    assert role_of(data) is role


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"import a.b as c\n", {"a", "b"}, id="a module"),
        pytest.param(b"from a.b import (\n    c,\n    d as e,\n)\n", {"c", "d"}, id="several lines"),
        pytest.param(b"from a import b, \\\n    c\n", {"b", "c"}, id="a line that goes on"),
        pytest.param(b"from .kernels import *\n", {"kernels"}, id="all of a module"),
        pytest.param(b"x = 1\n", set(), id="nothing"),
    ],
)
def test_imported_words(data: bytes, words: set[str]) -> None:
    assert imported_words(data) == words


@pytest.mark.parametrize(
    ("data", "sources"),
    [
        pytest.param(b"from a.b import c\nfrom d import (\n    e,\n)\n", {"b", "d"}, id="the last name"),
        pytest.param(b"from . a \\\n  import b\n", {"a"}, id="a line that goes on"),
        pytest.param("from é.ü import a\n".encode(), {"ü"}, id="letters of other alphabets"),
        pytest.param(b"import a\nfrom . import b\nimportant = 1\nx = __import__(y)\n", set(), id="from no module"),
    ],
)
def test_imported_sources(data: bytes, sources: set[str]) -> None:
    assert imported_sources(data) == sources

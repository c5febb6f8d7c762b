"""`check --changed`: findings in files that changed, with the whole project read."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from triton_doctor.cli.bare_options import spell_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

UNUSED = "import triton  # triton-doctor: ignore[TRD900]\n"
KERNEL = """\
import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, n: tl.constexpr):
    tl.store(x_ptr + n, 0)
"""
LAUNCH = "from kernels import scale\n\ndef launch(x, n):\n    scale[(8,)](x, n)\n"
CALL = "import triton\nfrom launches import launch\n\ndef step(x):\n    launch(x, x.max().item())\n"


@pytest.fixture
def git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run git in `folder`, an empty repository."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(("git", *identity, *arguments), cwd=folder, check=True, capture_output=True)

    run("init", "--initial-branch=main")
    return run


def found(doctor: Doctor, *arguments: str) -> list[str]:
    outcome = doctor("check", "--output-format", "concise", *arguments)
    assert outcome.err == ""
    return [line.partition(":")[0] for line in outcome.out.splitlines() if line.count(":") > 2]


def test_bare_flag_means_what_is_not_committed(doctor: Doctor, write: Write, git: Callable[..., None]) -> None:
    for name in ("same.py", "edited.py", "staged.py"):
        write(name, UNUSED)
    git("add", ".")
    git("commit", "-m", "first")
    write("edited.py", UNUSED + "# more\n")
    write("staged.py", UNUSED + "# more\n")
    git("add", "staged.py")
    write("new \N{GREEK SMALL LETTER PI}.py", UNUSED)

    assert found(doctor, "--changed") == ["edited.py", "new \N{GREEK SMALL LETTER PI}.py", "staged.py"]
    assert found(doctor, "--changed", ".") == found(doctor, ".", "--changed")
    assert found(doctor, "--changed", "edited.py") == ["edited.py"]


def test_revision_means_what_this_branch_changed(doctor: Doctor, write: Write, git: Callable[..., None]) -> None:
    write("theirs.py", UNUSED)
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "mine")
    write("mine.py", UNUSED)
    git("add", ".")
    git("commit", "-m", "mine")
    git("checkout", "main")
    write("theirs.py", UNUSED + "# more\n")
    git("commit", "-am", "theirs")
    git("checkout", "mine")

    assert found(doctor, "--changed", "main") == ["mine.py"]
    assert found(doctor, "--changed=main~1") == ["mine.py"]
    assert found(doctor, "--changed") == []


def test_the_rest_of_the_project_is_still_read(doctor: Doctor, write: Write, git: Callable[..., None]) -> None:
    write("kernels.py", KERNEL)
    write("steps.py", CALL)
    git("add", ".")
    git("commit", "-m", "first")
    write("launches.py", LAUNCH)

    assert found(doctor, "--changed") == ["launches.py"]


def test_repository_without_commits_has_changed_as_a_whole(
    doctor: Doctor, write: Write, git: Callable[..., None]
) -> None:
    write("a.py", UNUSED)
    git("add", ".")

    assert found(doctor, "--changed") == ["a.py"]


def test_folder_below_the_root_of_the_repository(
    doctor: Doctor, write: Write, git: Callable[..., None], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("inner/a.py", UNUSED)
    write("b.py", UNUSED)
    monkeypatch.chdir(folder / "inner")

    assert found(doctor, "--changed") == ["a.py"]


def test_revision_that_is_none_is_two_lines(doctor: Doctor, write: Write, git: Callable[..., None]) -> None:
    write("a.py", UNUSED)

    outcome = doctor("check", "--changed", "origin/main")

    assert outcome.status == 2
    assert "git knows no revision origin/main" in outcome.err
    assert "fetch-depth: 0" in outcome.err


def test_no_git_tree_is_two_lines(doctor: Doctor, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/")
    write("a.py", UNUSED)

    outcome = doctor("check", "--changed")

    assert (outcome.status, outcome.out) == (2, "")
    first, second = outcome.err.splitlines()
    assert first.endswith("is in no git working tree")
    assert second.startswith("hint: ")


def test_machine_without_git_is_two_lines(doctor: Doctor, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    write("a.py", UNUSED)

    assert doctor("check", "--changed").err == (
        "triton-doctor: --changed asks git, which is not there\nhint: install git, or leave --changed out\n"
    )


@pytest.mark.parametrize(
    ("arguments", "spelled"),
    [
        (["--changed"], ["--changed="]),
        (["--changed", "."], ["--changed=", "."]),
        (["--changed", "gone/"], ["--changed=", "gone/"]),
        (["--changed", "main", "."], ["--changed=main", "."]),
        (["--changed", "--exit-zero"], ["--changed=", "--exit-zero"]),
        (["--changed=main"], ["--changed=main"]),
        (["--add-ignore", "why"], ["--add-ignore=", "why"]),
        (["--add-ignore", "three in all", "."], ["--add-ignore=three in all", "."]),
        (["--add-ignore=three in all", "."], ["--add-ignore=three in all", "."]),
        (
            ["--recording", "a", "b.jsonl", "c.jsonl", ".", "d.jsonl"],
            ["--recording", "a", "--recording", "b.jsonl", "--recording", "c.jsonl", ".", "d.jsonl"],
        ),
        (["--", "--changed"], ["--", "--changed"]),
    ],
)
def test_value_that_is_left_out_takes_no_path(folder: Path, arguments: list[str], spelled: list[str]) -> None:
    assert spell_out(arguments) == spelled


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "--changed"], "--changed is about files, and - is stdin"),
        (["-", "--add-ignore"], "--add-ignore is about files, and - is stdin"),
        (["-", "--write-baseline"], "--write-baseline is about files, and - is stdin"),
        (["--write-baseline", "--changed"], "--write-baseline does not go with --changed"),
        (["--write-baseline", "--add-ignore"], "--write-baseline does not go with --add-ignore"),
        (["--add-ignore=a\nb"], "the reason of --add-ignore is more than one line"),
    ],
)
def test_wishes_that_do_not_go_together_are_two_lines(doctor: Doctor, arguments: list[str], message: str) -> None:
    outcome = doctor("check", *arguments)

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.splitlines()[0] == f"triton-doctor: {message}"
    assert outcome.err.splitlines()[1].startswith("hint: ")


def make_repository(path: Path, *options: str) -> None:
    """A repository at `path` with `old.py` in its only commit, and `new.py` beside it."""
    path.mkdir(parents=True, exist_ok=True)
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    (path / "old.py").write_text(UNUSED, encoding="utf-8")
    for arguments in (("init", *options), ("add", "."), ("commit", "-m", "first")):
        subprocess.run(("git", *identity, *arguments), cwd=path, check=True, capture_output=True)
    (path / "new.py").write_text(UNUSED, encoding="utf-8")


def test_edits_inside_a_submodule_are_seen(
    doctor: Doctor, write: Write, git: Callable[..., None], folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    origin = tmp_path_factory.mktemp("origin")
    make_repository(origin)
    git("-c", "protocol.file.allow=always", "submodule", "add", str(origin), "third_party/sub")
    git("commit", "-m", "with a submodule")
    assert found(doctor, "--changed", ".") == []

    write("third_party/sub/old.py", UNUSED + "# more\n")
    write("third_party/sub/new.py", UNUSED)

    assert found(doctor, "--changed", ".") == ["third_party/sub/new.py", "third_party/sub/old.py"]


def test_commits_of_a_submodule_are_seen_from_above(
    doctor: Doctor, write: Write, git: Callable[..., None], folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    origin = tmp_path_factory.mktemp("origin")
    make_repository(origin)
    git("-c", "protocol.file.allow=always", "submodule", "add", str(origin), "sub")
    git("commit", "-m", "with a submodule")
    write("sub/new.py", UNUSED)
    git("-C", "sub", "add", ".")
    git("-C", "sub", "commit", "-m", "second")
    git("add", "sub")
    git("commit", "-m", "a later submodule")

    assert found(doctor, "--changed", "HEAD", ".") == []
    assert found(doctor, "--changed", "HEAD~1", ".") in ([], ["sub/new.py"])
    git("checkout", "-b", "work", "HEAD~1")
    assert found(doctor, "--changed", "HEAD", ".") == ["sub/new.py"]


def test_files_of_a_nested_repository_that_is_not_added_are_new(
    doctor: Doctor, write: Write, git: Callable[..., None], folder: Path
) -> None:
    write("same.py", UNUSED)
    git("add", ".")
    git("commit", "-m", "first")
    make_repository(folder / "vendored" / "nested")

    assert found(doctor, "--changed", ".") == ["vendored/nested/new.py", "vendored/nested/old.py"]


def test_repository_of_sha256_without_commits_is_all_new(doctor: Doctor, write: Write, folder: Path) -> None:
    subprocess.run(("git", "init", "--object-format=sha256"), cwd=folder, check=True, capture_output=True)
    write("a.py", UNUSED)

    assert found(doctor, "--changed", ".") == ["a.py"]


@pytest.mark.parametrize("value", [".git", "absolute"])
def test_variables_of_a_hook_do_not_hide_the_repository(
    doctor: Doctor,
    write: Write,
    git: Callable[..., None],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    value: str,
) -> None:
    write("sub/a.py", UNUSED)
    git("add", ".")
    git("commit", "-m", "first")
    write("sub/a.py", UNUSED + "# more\n")
    monkeypatch.setenv("GIT_DIR", str(folder / ".git") if value == "absolute" else value)

    assert found(doctor, "--changed", "HEAD", "sub") == ["sub/a.py"]


def test_repository_that_the_environment_names_is_asked(
    doctor: Doctor, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "dotfiles"
    subprocess.run(("git", "init", "--bare", str(elsewhere)), check=True, capture_output=True)
    write("a.py", UNUSED)
    assert doctor("check", "--changed", ".").status == 2

    monkeypatch.setenv("GIT_DIR", str(elsewhere))

    assert found(doctor, "--changed", ".") == ["a.py"]


def test_programs_that_the_repository_configures_are_not_run(
    doctor: Doctor, write: Write, git: Callable[..., None], folder: Path
) -> None:
    write("a.py", UNUSED)
    git("add", ".")
    git("commit", "-m", "first")
    write("hook.sh", "#!/bin/sh\ntouch ran\n").chmod(0o755)
    git("config", "core.fsmonitor", str(folder / "hook.sh"))

    assert found(doctor, "--changed", ".") == []
    assert not (folder / "ran").exists()

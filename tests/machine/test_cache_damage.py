"""Entries that Triton would find and could not use are named by `env` and `cache why`, with what is wrong."""

from __future__ import annotations

import _ssl
import shlex
from pathlib import Path

import pytest

from tests.machine.packs.conftest import KEYS, PARTS, make_kernel
from tests.machine.sick import ask_env, in_own_mounts
from triton_doctor.machine.cache_damage import describe_damage
from triton_doctor.machine.diagnose import diagnose
from triton_doctor.machine.facts import Cache, FileSystem, Machine
from triton_doctor.machine.packs.differences import judge_folder

# A real library with the libraries that it needs, in place of a launcher: only a machine with a GPU builds those.
LIBRARY = Path(_ssl.__file__).read_bytes()


def entry_with(folder: Path, name: str, data: bytes) -> Path:
    path = make_kernel(folder, KEYS[0])
    (path / name).write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        pytest.param("add.cubin", b"", "add.cubin is empty", id="an empty binary"),
        pytest.param("add.ttir", b"", "add.ttir is empty", id="empty code"),
        pytest.param("add.json", b'{"hash": "0', "add.json is cut or damaged", id="cut metadata"),
        pytest.param("__grp__add.json", b"{}", "__grp__add.json is damaged: it names no files", id="no group"),
        pytest.param("add.cubin", LIBRARY[:5000], "add.cubin is cut: it has 5,000 bytes", id="a cut binary"),
        pytest.param("add.cubin", b"\x7fEL", "add.cubin is cut: it has 3 bytes", id="three bytes"),
        pytest.param("x.so", LIBRARY.replace(b"libssl.so", b"libxyz.so"), "needs libxyz.so", id="a library gone"),
        pytest.param("x.so", LIBRARY, None, id="libraries that are there"),
        pytest.param("lock", b"", None, id="a lock"),
    ],
)
def test_damage_is_named(tmp_path: Path, name: str, data: bytes, problem: str | None) -> None:
    found = describe_damage(entry_with(tmp_path, name, data))

    assert (found is None) == (problem is None)
    assert problem is None or (found is not None and problem in found)


def test_damaged_kernel_misses_and_is_an_error_of_the_machine(tmp_path: Path, machine: dict[str, str]) -> None:
    entry_with(tmp_path / "cache", "add.cubin", b"")
    make_kernel(tmp_path / "cache", KEYS[1])

    judged = judge_folder(tmp_path / "cache", "*", PARTS, {})
    said = ask_env(machine | {"TRITON_CACHE_DIR": str(tmp_path / "cache")})

    (miss,) = [miss for miss in judged.misses if miss.difference.part == "damaged"]
    assert (miss.difference.message, [entry.key for entry in miss.entries]) == ("add.cubin is empty", [KEYS[0]])
    assert said.finding("TRD616")["evidence"] == f"{KEYS[0]}: add.cubin is empty"
    assert shlex.split(said.finding("TRD616")["command"]) == ["rm", "-r", str(tmp_path / "cache" / KEYS[0])]


def test_launcher_whose_library_is_gone_is_a_note_of_cache_why(tmp_path: Path) -> None:
    make_kernel(tmp_path, KEYS[1])
    (tmp_path / KEYS[0]).mkdir()
    (tmp_path / KEYS[0] / "__triton_launcher.so").write_bytes(LIBRARY.replace(b"libssl.so", b"libxyz.so"))

    notes = judge_folder(tmp_path, "*", PARTS, {}).notes

    assert any(f"{KEYS[0]}: __triton_launcher.so needs libxyz.so" in note for note in notes)


def test_file_system_without_programs_is_told(machine: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()

    said = ask_env(
        machine | {"TRITON_CACHE_DIR": str(folder)}, before=in_own_mounts(f"mount -t tmpfs -o noexec none {folder}")
    )

    assert "mounted noexec" in said.finding("TRD611")["evidence"]


@pytest.mark.parametrize(
    ("free", "message"), [(52_000_000, "is small"), (20_000_000, "is nearly full"), (900_000_000_000, None)]
)
def test_small_file_system_is_not_called_full(free: int, message: str | None) -> None:
    size = 52_000_000 if free < 10**9 else 10**12
    cache = Cache(file_system=FileSystem(size_bytes=size, free_bytes=free))

    found = [finding for finding in diagnose(Machine(cache=cache)) if finding.code == "TRD613"]

    assert [finding.message.partition("cache ")[2].partition(" is")[1:] for finding in found] == (
        [(" is", message.removeprefix("is"))] if message else []
    )

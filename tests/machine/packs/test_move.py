"""A cache that is packed, and unpacked at another path: what Triton finds there."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.machine.packs.conftest import KEYS, PARTS, make_kernel
from tests.runtime.tritons import VERSIONS
from tests.tritons import skip_without
from triton_doctor.errors import DoctorError
from triton_doctor.machine.cache_lookups import count_lookups
from triton_doctor.machine.packs.gather import gather
from triton_doctor.machine.packs.install import install
from triton_doctor.machine.packs.pack import open_pack, write_pack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome
    from tests.runtime.tritons import Runner

HERE = os.path.dirname(__file__)  # noqa: PTH120


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_unpacked_elsewhere_or_read_through_all_variants_are_found(
    tmp_path: Path, runner: Callable[[str], Runner], version: str
) -> None:
    """Also by eight processes that start at once, each of which compiles what is not packed at most once."""
    run = runner(version)
    run(f"{HERE}/three_variants.py")
    kernels, elsewhere, local = tmp_path / "kernels", tmp_path / "else" / "where", tmp_path / "local"
    tar, database = tmp_path / "p.tar.zst", tmp_path / "p.sqlite"

    run("-m", "triton_doctor", "cache", "pack", str(tar))
    run("-m", "triton_doctor", "cache", "pack", str(database))
    kernels.rename(tmp_path / "gone")
    run("-m", "triton_doctor", "cache", "unpack", str(tar), "--cache-dir", str(elsewhere))

    started = run(f"{HERE}/starts.py", str(elsewhere), str(database), str(local))
    found = json.loads(started.stdout)
    assert found["unpacked"] == [{"compiled": 0, "loaded": 3}]
    assert all(
        process["compiled"] <= 1 and process["loaded"] == 4 - process["compiled"] for process in found["together"]
    )
    assert found["read_only"] == [{"compiled": 1, "loaded": 3}]
    assert started.stderr.splitlines() == [started.stderr.strip()]
    assert "the cache folder cannot be written" in started.stderr
    lookups = count_lookups(local)
    assert lookups["pack"] == 24
    assert lookups["missed"] == sum(process["compiled"] for process in found["together"])
    with open_pack(tar) as (manifest, entries):
        whole = sum(file.stat().st_size for file in (tmp_path / "gone").rglob("*") if file.is_file())
        pieces = (piece for _, files in entries for pieces in files.values() for piece in pieces)
        assert sum(map(len, pieces)) <= 0.35 * whole
        assert manifest.parts.triton == version
        assert [function.name for function in manifest.entries[0].functions] == ["add", "scale"]


def test_groups_are_whole_and_name_the_new_path(packed: Path, tmp_path: Path) -> None:
    with open_pack(packed) as (_, entries):
        install(entries, tmp_path / "new", seen_at=tmp_path / "mounted")

    group = json.loads((tmp_path / "new" / KEYS[0] / "__grp__add.json").read_text())
    assert group == {
        "child_paths": {name: f"{tmp_path}/mounted/{KEYS[0]}/{name}" for name in ("add.cubin", "add.json")}
    }
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == list(KEYS)


def test_a_folder_that_others_see_elsewhere_is_unpacked_into_twice(packed: Path, tmp_path: Path) -> None:
    """As an init container does that starts again."""
    written, present = [], []
    for _ in range(2):
        with open_pack(packed) as (_, entries):
            counts = install(entries, tmp_path / "new", seen_at=tmp_path / "mounted elsewhere")
        written.append(counts.written.total())
        present.append(counts.present.total())
        assert counts.unusable == []

    assert (written, present) == ([2, 0], [0, 2])


@pytest.mark.parametrize("form", ["tar.zst", "tar", "sqlite"])
def test_the_same_entries_make_the_same_pack_and_come_back(packed: Path, tmp_path: Path, form: str) -> None:
    gathered = gather(tmp_path / "cache", PARTS)
    for name in ("one", "two"):
        write_pack(gathered, tmp_path / f"{name}.{form}")

    assert (tmp_path / f"one.{form}").read_bytes() == (tmp_path / f"two.{form}").read_bytes()
    with open_pack(tmp_path / f"one.{form}") as (manifest, entries):
        assert manifest == gathered.manifest
        assert [[*files["add.cubin"]] for _, files in entries] == [[f"cubin of {key}".encode()] for key in KEYS]


def test_an_entry_that_is_there_is_never_overwritten(packed: Path, tmp_path: Path) -> None:
    """Whole entries stay, empty and half-written ones are completed, and one that Triton cannot use is told."""
    there = make_kernel(tmp_path / "new", KEYS[0], num_warps=8)
    (tmp_path / "new" / KEYS[1]).mkdir()
    before = {file.name: file.read_bytes() for file in there.iterdir()}

    with open_pack(packed) as (_, entries):
        counts = install(entries, tmp_path / "new", seen_at=tmp_path / "new")

    assert (counts.written["kernel"], counts.present["kernel"], counts.unusable) == (1, 1, [])
    assert {file.name: file.read_bytes() for file in there.iterdir()} == before
    assert (tmp_path / "new" / KEYS[1] / "__grp__add.json").exists()


def test_a_half_written_entry_is_completed_and_a_broken_one_is_told(packed: Path, tmp_path: Path) -> None:
    half, broken = (tmp_path / "new" / key for key in KEYS)
    for path in (half, broken):
        path.mkdir(parents=True)
        (path / "add.cubin").write_text("written by a process that is compiling")
    (broken / "__grp__add.json").write_text(json.dumps({"child_paths": {"add.json": "/gone/add.json"}}))

    with open_pack(packed) as (_, entries):
        counts = install(entries, tmp_path / "new", seen_at=tmp_path / "new")

    assert (counts.written["kernel"], counts.unusable) == (1, [KEYS[1]])
    assert (half / "add.cubin").read_text() == "written by a process that is compiling"
    assert (half / "add.json").exists()


def test_eight_that_unpack_at_once_write_each_entry_whole_and_once(packed: Path, tmp_path: Path) -> None:
    def unpack(_: int) -> int:
        with open_pack(packed) as (_, entries):
            counts = install(entries, tmp_path / "new", seen_at=tmp_path / "new")
        assert counts.unusable == []
        return counts.written.total()

    with ThreadPoolExecutor(8) as pool:
        written = sum(pool.map(unpack, range(8)))

    assert written == len(KEYS)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == list(KEYS)
    names = ["__grp__add.json", "add.cubin", "add.json"]
    assert all(sorted(file.name for file in path.iterdir()) == names for path in (tmp_path / "new").iterdir())


def test_launchers_and_results_of_tuning_move_too(tmp_path: Path) -> None:
    launcher, tuning, other = (tmp_path / "cache" / (letter * 52) for letter in "LTX")
    for path in (launcher, tuning, other):
        path.mkdir(parents=True)
    (launcher / "__triton_launcher.cpython-311-x86_64-linux-gnu.so").write_bytes(b"elf")
    (tuning / "add.autotune.json").write_text("{}")
    (other / "notes.json").write_text("{}")

    gathered = gather(tmp_path / "cache", PARTS)

    assert [(entry.kind, entry.kernel) for entry in gathered.manifest.entries] == [
        ("launcher", None),
        ("tuning", "add"),
    ]
    assert gathered.left_out.total() == 1


def test_a_pack_that_nothing_here_would_use_is_refused(doctor: Callable[..., Outcome], packed: Path) -> None:
    skip_without("triton")
    refused = doctor("cache", "unpack", str(packed), "--cache-dir", "new")
    unpacked = doctor("cache", "unpack", str(packed), "--cache-dir", "new", "--no-check")

    assert refused.status == 2
    assert "no kernel of it would be found here: Triton" in refused.err
    assert (unpacked.status, unpacked.out) == (0, "unpacked 2 variants into " + unpacked.out.split(" into ")[1])


def test_pack_without_a_form_is_one_line(doctor: Callable[..., Outcome], tmp_path: Path) -> None:
    make_kernel(tmp_path / "c", KEYS[0])

    outcome = doctor("cache", "pack", "p.zip", "--cache-dir", "c")

    assert outcome.status == 2
    assert "hint: name it *.tar.zst" in outcome.err


def test_a_full_disk_is_told_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from triton_doctor.machine.packs.install import require_room

    with pytest.raises(DoctorError, match="free"):
        require_room(1 << 60, tmp_path / "not" / "there")

"""The cache verbs: listing what is damaged or being written, and removing what is old and nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

from tests.machine.sick import DOCTOR, in_own_mounts
from triton_doctor.errors import DoctorError
from triton_doctor.machine.cache_entries import CacheEntry, choose_old, parse_age, read_entries, remove_entry, sum_up
from triton_doctor.machine.cache_variants import describe_variants

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

DAY = 86400


def key_of(number: int) -> str:
    return base64.b32encode(hashlib.sha256(str(number).encode()).digest()).decode().rstrip("=")


def make_entry(folder: Path, number: int, kernel: str = "add", *, target: str = "cuda", age_days: float = 0) -> Path:
    """An entry as Triton leaves it, last used `age_days` ago."""
    path = folder / key_of(number)
    path.mkdir(parents=True)
    metadata = {"hash": "0" * 64, "target": {"backend": target, "arch": 90, "warp_size": 32}, "num_warps": number}
    (path / f"{kernel}.json").write_text(json.dumps(metadata))
    (path / f"{kernel}.cubin").write_bytes(b"x" * 1000)
    (path / f"__grp__{kernel}.json").write_text(json.dumps({"child_paths": {}}))
    moment = time.time() - age_days * DAY
    for file in path.iterdir():
        os.utime(file, (moment, moment))
    return path


def test_kernels_are_listed_with_the_most_variants_first(doctor: Callable[..., Outcome], tmp_path: Path) -> None:
    for number in range(3):
        make_entry(tmp_path / "c", number, "matmul", age_days=2.5)
    make_entry(tmp_path / "c", 3, "add", age_days=0.1)
    (tmp_path / "c" / key_of(4)).mkdir()

    outcome = doctor("cache", "list", "--cache-dir", "c")

    assert outcome.status == 0
    assert outcome.out == snapshot("""\
variants    size  newest  target   kernel
       3  3.5 kB     2 d  cuda:90  matmul
       1  1.2 kB     2 h  cuda:90  add
4 variants of 2 kernels, 1 other entry in c: 4.7 kB
""")


def test_list_as_json_has_every_kernel(doctor: Callable[..., Outcome], tmp_path: Path) -> None:
    make_entry(tmp_path / "c", 1)

    document = json.loads(doctor("cache", "list", "--cache-dir", "c", "--output-format", "json").out)

    assert [(kernel["kernel"], kernel["variants"]) for kernel in document["kernels"]] == [("add", 1)]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: (path / "add.json").write_text('{"hash": "abc", "targ'), id="half-written metadata"),
        pytest.param(lambda path: (path / "add.json").write_bytes(b"\xff\xfe\x00"), id="metadata that is no text"),
        pytest.param(lambda path: (path / "add.json").write_text("[" * 100_000), id="metadata without end"),
        pytest.param(lambda path: (path / "add.json").write_text("[]"), id="metadata of another kind"),
        pytest.param(lambda path: (path / "add.json").unlink(), id="no metadata"),
        pytest.param(lambda path: (path / "__grp__add.json").unlink(), id="no group"),
        pytest.param(lambda path: (path / "add.ttir").write_bytes(b"\xff tt.func public @add(" * 9), id="broken code"),
        pytest.param(lambda path: (path / "tmp.pid_1_x").mkdir(), id="being written"),
        pytest.param(lambda path: (path / "add.cubin").symlink_to("/nowhere/x"), id="a link to nothing"),
    ],
)
def test_damaged_entry_is_no_crash(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    make_entry(tmp_path, 1)
    path = make_entry(tmp_path, 2)
    (path / "add.cubin").unlink()

    damage(path)

    entries = list(read_entries(tmp_path))
    content = sum_up(entries)
    assert len(entries) == 2
    assert content.variants + content.others == 2
    assert describe_variants(tmp_path, [entry for entry in entries if entry.kernel == "add"])


def test_what_is_no_entry_is_left_out(tmp_path: Path) -> None:
    make_entry(tmp_path / "elsewhere", 1)
    (tmp_path / "c" / "notes").mkdir(parents=True)
    (tmp_path / "c" / key_of(5)).write_text("a file")
    (tmp_path / "c" / key_of(6)).symlink_to(tmp_path / "elsewhere" / key_of(1))

    assert list(read_entries(tmp_path / "c")) == []
    assert list(read_entries(tmp_path / "nowhere")) == []


def test_entry_that_vanishes_meanwhile_is_left_out(tmp_path: Path) -> None:
    for number in range(3):
        make_entry(tmp_path, number)
    reading = read_entries(tmp_path)
    first = next(reading)
    for number in range(3):
        if key_of(number) != first.key:
            remove_entry(
                tmp_path,
                CacheEntry(
                    key=key_of(number),
                    kernel="add",
                    target=None,
                    is_tritons=True,
                    size_bytes=0,
                    written_at=0,
                    used_at=0,
                ),
            )

    assert list(reading) == []


def test_work_of_listing_grows_with_the_number_of_entries(tmp_path: Path) -> None:
    calls = {}
    for count in (100, 200, 400):
        for number in range(count):
            make_entry(tmp_path / str(count), number, f"kernel_{number % 7}")
        events = Counter[str]()
        sys.setprofile(lambda frame, event, argument: events.update([event]))  # noqa: B023
        try:
            content = sum_up(read_entries(tmp_path / str(count)))
        finally:
            sys.setprofile(None)
        assert content.variants == count
        calls[count] = events["call"] + events["c_call"]

    assert calls[400] - calls[200] < 2.1 * (calls[200] - calls[100])
    assert calls[400] < 400 * 100


def test_old_entries_are_removed_and_no_others(doctor: Callable[..., Outcome], tmp_path: Path) -> None:
    old, used = make_entry(tmp_path / "c", 1, age_days=40), make_entry(tmp_path / "c", 2, age_days=40)
    new = make_entry(tmp_path / "c", 3, age_days=1)
    os.utime(used / "__grp__add.json", (time.time(), time.time() - 40 * DAY))
    (tmp_path / "c" / "notes.txt").write_text("mine")

    outcome = doctor("cache", "prune", "--older-than", "30d", "--cache-dir", "c", "--yes")

    assert outcome.out.splitlines()[-1] == "removed 1 entry"
    assert not old.exists()
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == sorted([used.name, new.name, "notes.txt"])


@pytest.mark.parametrize(
    ("names", "goes"),
    [
        pytest.param(["config.json", "model.safetensors"], False, id="a snapshot of a model, named by its commit"),
        pytest.param(["config.json"], False, id="json alone"),
        pytest.param([], False, id="nothing"),
        pytest.param(["libmine.so"], False, id="a library of somebody"),
        pytest.param(["add.cubin", "notes.txt"], False, id="a kernel beside what triton never writes"),
        pytest.param(["add.ttir", "add.json"], True, id="a compile that stopped half-way"),
        pytest.param(["__triton_launcher.so"], True, id="a launcher"),
        pytest.param(["__triton_launcher.cpython-311-x86_64-linux-gnu.so"], True, id="a launcher since 3.4"),
        pytest.param(["cuda_utils.so", "lock"], True, id="utilities"),
        pytest.param(["add.autotune.json"], True, id="a tuning"),
        pytest.param(["__grp__add.json", "add.json", "add.new_form"], True, id="a kernel with its group"),
    ],
)
def test_only_what_triton_must_have_written_is_removed(
    doctor: Callable[..., Outcome], tmp_path: Path, names: list[str], goes: bool
) -> None:
    entry = tmp_path / "c" / hashlib.sha1(b"a commit").hexdigest()
    entry.mkdir(parents=True)
    long_ago = time.time() - 40 * DAY
    for name in names:
        (entry / name).write_text("{}")
        os.utime(entry / name, (long_ago, long_ago))
    os.utime(entry, (long_ago, long_ago))

    outcome = doctor("cache", "prune", "--older-than", "30d", "--cache-dir", "c", "--yes")

    assert (outcome.status, entry.exists()) == (0, not goes)


def test_dry_run_removes_nothing(doctor: Callable[..., Outcome], tmp_path: Path) -> None:
    path = make_entry(tmp_path / "c", 1, age_days=40)

    outcome = doctor("cache", "prune", "--older-than", "30d", "--cache-dir", "c", "--dry-run")

    assert outcome.out.splitlines()[-1] == "would remove 1 entry"
    assert len(list(path.iterdir())) == 3


@pytest.mark.parametrize(
    ("answer", "status", "left"), [(b"y\n", 0, False), (b"n\n", 0, True), (b"", 2, True)], ids=["yes", "no", "nobody"]
)
def test_prune_asks_first(
    doctor: Callable[..., Outcome], tmp_path: Path, answer: bytes, status: int, left: bool
) -> None:
    path = make_entry(tmp_path / "c", 1, age_days=40)

    outcome = doctor("cache", "prune", "--older-than", "30d", "--cache-dir", "c", stdin=answer)

    assert (outcome.status, path.exists()) == (status, left)
    assert "remove 1 entry?" in outcome.err


def test_entry_in_use_is_kept_whatever_the_age_asked_for(tmp_path: Path) -> None:
    make_entry(tmp_path, 1)

    assert list(choose_old(read_entries(tmp_path), older_than_seconds=0, now=time.time())) == []


def test_file_system_without_times_of_use_is_told(machine: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    make_entry(tmp_path / "made", 1)
    before = in_own_mounts(
        f"mount -t tmpfs -o noatime,size=1m none {folder}; cp -r {tmp_path}/made/* {folder}; "
        f"touch -d '40 days ago' {folder}/*/*"
    )
    prune = [*DOCTOR, "cache", "prune", "--older-than", "30d", "--dry-run", "--cache-dir", str(folder)]

    done = subprocess.run([*before, *prune], env=machine, capture_output=True, text=True, check=True)

    assert done.stderr == "triton-doctor: this file system keeps no times of use: ages count from the compile\n"
    assert done.stdout.splitlines()[-1] == "would remove 1 entry"


def test_link_below_an_entry_is_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    path = make_entry(tmp_path / "c", 1, age_days=40)
    (path / "link").symlink_to(tmp_path / "precious")
    (entry,) = read_entries(tmp_path / "c")

    assert remove_entry(tmp_path / "c", entry)

    assert (tmp_path / "precious" / "file").read_text() == "mine"
    assert not path.exists()


def test_entry_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    path = make_entry(tmp_path / "c", 1, age_days=40)
    (entry,) = read_entries(tmp_path / "c")
    path.rename(tmp_path / "precious")
    path.symlink_to(tmp_path / "precious")

    assert not remove_entry(tmp_path / "c", entry)

    assert len(list((tmp_path / "precious").iterdir())) == 3


def test_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    entry = CacheEntry(
        key="../precious", kernel="add", target=None, is_tritons=True, size_bytes=0, written_at=0, used_at=0
    )

    with pytest.raises(ValueError, match="no name of a cache entry"):
        remove_entry(tmp_path, entry)


@pytest.mark.parametrize(
    ("text", "seconds"), [("30d", 30 * DAY), ("12h", 43200), ("2w", 14 * DAY), ("90s", 90), ("5m", 300)]
)
def test_age_is_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "-3d", "3 days", "1e9d", "9999999d"])
def test_other_ages_are_refused(text: str) -> None:
    with pytest.raises(DoctorError, match="is no age"):
        parse_age(text)


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["show", "ad"], "no kernel ad in c", "did you mean `add`?"),
        (["show", "zzz"], "no kernel zzz in c", "`triton-doctor cache list --all` lists them"),
        (["prune", "--older-than", "soon"], "`soon` is no age", "write it as 30d, 12h or 4w"),
    ],
)
def test_wrong_arguments_are_told_with_a_hint(
    doctor: Callable[..., Outcome], tmp_path: Path, arguments: list[str], message: str, hint: str
) -> None:
    make_entry(tmp_path / "c", 1)

    outcome = doctor("cache", *arguments, "--cache-dir", "c")

    assert (outcome.status, outcome.err) == (2, f"triton-doctor: {message}\nhint: {hint}\n")


def test_folder_that_is_not_there_is_told(doctor: Callable[..., Outcome]) -> None:
    outcome = doctor("cache", "list", "--cache-dir", "none")

    assert (outcome.status, outcome.err.splitlines()[0]) == (2, "triton-doctor: there is no cache folder none")


def test_help_is_shown_where_no_verb_is_given(doctor: Callable[..., Outcome]) -> None:
    outcome = doctor("cache")

    assert outcome.status == 2
    assert "prune" in outcome.err

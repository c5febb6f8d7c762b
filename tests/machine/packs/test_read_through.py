"""The cache manager beside Triton: what it imports, and what it does where the pack or the folder is damaged."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.machine.packs.conftest import KEYS, PARTS, make_kernel
from tests.tritons import skip_without
from triton_doctor.machine.cache_lookups import LIMIT_BYTES, NAME, count_lookups, note_lookup
from triton_doctor.machine.packs.gather import gather
from triton_doctor.machine.packs.pack import write_pack

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

HEAVY = {"msgspec", "typer", "rich", "zstandard", "yaml", "pathspec", "libcst"}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    make_kernel(tmp_path / "cache", KEYS[0])
    write_pack(gather(tmp_path / "cache", PARTS), tmp_path / "p.sqlite")
    return tmp_path / "p.sqlite"


@pytest.fixture
def manager(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The manager's module in a process that has not opened a pack."""
    skip_without("triton")
    from triton_doctor import cache_manager

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "local"))
    monkeypatch.setenv("TRITON_DOCTOR_PACK", str(database))
    cache_manager.open_again()
    return cache_manager


def test_manager_imports_only_what_python_brings() -> None:
    skip_without("triton")
    script = "import sys, triton.runtime.cache; import triton_doctor.cache_manager; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)

    assert HEAVY & set(done.stdout.split()) == set()


def test_a_packed_kernel_is_written_to_the_local_folder_whole(manager, tmp_path: Path) -> None:
    group = manager.ReadThrough(KEYS[0]).get_group("add.json")

    entry = tmp_path / "local" / KEYS[0]
    assert group == {name: str(entry / name) for name in ("add.cubin", "add.json")}
    assert (entry / "add.cubin").read_text() == f"cubin of {KEYS[0]}"
    assert count_lookups(tmp_path / "local") == {"pack": 1}


def test_what_is_compiled_is_written_locally_and_found_there(manager, tmp_path: Path) -> None:
    first = manager.ReadThrough(KEYS[1])
    assert first.get_group("add.json") is None
    first.put_group("add.json", {"add.json": first.put("{}", "add.json")})

    assert manager.ReadThrough(KEYS[1]).get_group("add.json") == {"add.json": f"{tmp_path}/local/{KEYS[1]}/add.json"}
    assert count_lookups(tmp_path / "local") == {"local": 1, "missed": 1}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.unlink(), id="gone"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:5000]), id="cut short"),
        pytest.param(lambda path: path.write_bytes(b"no database"), id="no database"),
        pytest.param(lambda path: [path.unlink(), path.mkdir()], id="a folder"),
    ],
)
def test_a_pack_that_cannot_be_read_is_said_once_and_raises_nothing(
    manager, database: Path, damage: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    damage(database)

    assert [manager.ReadThrough(key).get_group("add.json") for key in KEYS] == [None, None]
    assert [manager.ReadThrough(key).get_file("x.so") for key in KEYS] == [None, None]
    assert len(caplog.messages) == 1
    assert "kernels come from the local cache" in caplog.messages[0]


def test_no_descriptor_of_the_pack_is_kept_in_the_program(manager, database: Path) -> None:
    manager.ReadThrough(KEYS[0]).get_group("add.json")

    opened = [path.resolve() for path in Path("/proc/self/fd").iterdir()]
    assert database.resolve() not in opened


def test_a_pack_of_somebody_else_is_not_read(manager, database: Path, caplog: pytest.LogCaptureFixture) -> None:
    import sqlite3

    database.unlink()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE files (key, name, data)")

    assert manager.ReadThrough(KEYS[0]).get_group("add.json") is None
    assert "not a pack" in caplog.text


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("UPDATE files SET name = '../../outside' WHERE name = 'add.cubin'", id="a way out in a name"),
        pytest.param("UPDATE files SET name = '/tmp/outside' WHERE name = 'add.cubin'", id="an absolute name"),
        pytest.param("UPDATE entries SET grouped = '../add'", id="a way out in a group"),
        pytest.param(
            "DROP TABLE entries; CREATE VIEW entries AS WITH RECURSIVE c(key) AS (SELECT 1 UNION ALL SELECT 1 FROM c)"
            " SELECT key, key AS grouped FROM c",
            id="a view without end",
        ),
    ],
)
def test_a_hostile_pack_writes_nothing_outside_and_does_not_hang(
    manager, database: Path, tmp_path: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    import sqlite3

    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(change)

    assert manager.ReadThrough(KEYS[0]).get_group("add.json") is None
    assert len(caplog.messages) == 1
    written = [path for path in tmp_path.rglob("*") if path.is_file() and tmp_path / "cache" not in path.parents]
    assert {path.name for path in written} == {"p.sqlite", "triton-doctor-lookups.tsv"}


def test_dumps_and_overrides_are_tritons(manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dump"))
    dumped = manager.ReadThrough(KEYS[0], dump=True)

    assert dumped.put("text", "add.ttir") == f"{tmp_path}/dump/{KEYS[0]}/add.ttir"
    assert dumped.get_file("add.cubin") is None


def test_lookups_are_listed_and_their_file_does_not_grow_without_end(
    doctor: Callable[..., Outcome], tmp_path: Path
) -> None:
    make_kernel(tmp_path / "c", KEYS[0])
    for state in ("pack", "pack", "missed"):
        note_lookup(tmp_path / "c", state, "add")

    listed = doctor("cache", "list", "--cache-dir", "c").out.splitlines()[-1]
    assert listed == "3 lookups by triton_doctor.cache_manager: 2 found in the pack, 0 here, 1 not"
    with (tmp_path / "c" / NAME).open("a") as file:
        file.truncate(LIMIT_BYTES)
    note_lookup(tmp_path / "c", "pack", "add")
    assert (tmp_path / "c" / NAME).stat().st_size == LIMIT_BYTES

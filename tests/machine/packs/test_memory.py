"""Packs from anybody: whatever they say, reading them takes less than 200 MB."""

from __future__ import annotations

import io
import json
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.machine.packs.conftest import KEYS
from tests.machine.packs.test_hostile_packs import CUBIN, ENTRY, JSON, PARTS, manifest_of, tar_of
from tests.tritons import skip_without
from triton_doctor.machine.packs.pack_file import APPLICATION, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KEY = KEYS[0]
LIMIT_MB = 200
PEAK = (
    "import resource, subprocess, sys; status = subprocess.call(sys.argv[1:]);"
    " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10); sys.exit(status)"
)
BIG = 220 << 20
COLUMNS = ", ".join(f"column{number}" for number in range(60))


class Zeros:
    """A file of `size` zeros."""

    def __init__(self, size: int) -> None:
        self._left = size

    def read(self, size: int) -> bytes:
        size = min(size, self._left)
        self._left -= size
        return bytes(size)


def joined(pieces: Iterator[str], size: int = 15 << 20) -> str:
    """As many of `pieces` as fit into `size`, with commas between them."""
    found, length = [], 0
    for piece in pieces:
        length += len(piece) + 1
        if length > size:
            break
        found.append(piece)
    return ",".join(found)


def numbered(text: str) -> Iterator[str]:
    """`text` again and again, with another number in it."""
    return (text.replace("#", f"{number:040x}") for number in range(1 << 30))


def short(text: str) -> Iterator[str]:
    return (text.replace("#", f"{number:x}") for number in range(1 << 30))


def compressed(path: Path, write: Callable[[tarfile.TarFile], None], **options: int) -> None:
    zstandard = pytest.importorskip("zstandard")
    parameters = zstandard.ZstdCompressionParameters.from_level(1, **options)
    compressor = zstandard.ZstdCompressor(compression_params=parameters)
    with (
        path.open("wb") as file,
        compressor.stream_writer(file) as writer,
        tarfile.open(fileobj=writer, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        write(tar)


def add(tar: tarfile.TarFile, name: str, size: int, data: io.BytesIO | Zeros | None = None, **fields: object) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    for field, value in fields.items():
        setattr(member, field, value)
    tar.addfile(member, data or Zeros(size))  # type: ignore[arg-type]


def big_files(path: Path) -> None:
    files = [{"name": f"add.{number}", "size": BIG} for number in range(2)]
    manifest = manifest_of(ENTRY | {"files": [*files, {"name": "add.json", "size": 2}]})

    def write(tar: tarfile.TarFile) -> None:
        add(tar, "manifest.json", len(manifest), io.BytesIO(manifest))
        for file in files:
            add(tar, f"{KEY}/{file['name']}", BIG)
        add(tar, f"{KEY}/add.json", 2, io.BytesIO(b"{}"))

    compressed(path, write)


def big_header(kind: bytes, *, first: bool) -> Callable[[Path], None]:
    def write_pack(path: Path) -> None:
        manifest = manifest_of(ENTRY | {"files": [{"name": "x", "size": BIG}, {"name": "add.json", "size": 2}]})

        def write(tar: tarfile.TarFile) -> None:
            if not first:
                add(tar, "manifest.json", len(manifest), io.BytesIO(manifest))
            add(tar, "header", BIG, type=kind)
            add(tar, f"{KEY}/x", BIG)

        compressed(path, write)

    return write_pack


def wide_window(path: Path) -> None:
    def write(tar: tarfile.TarFile) -> None:
        manifest = manifest_of(ENTRY | {"files": [{"name": "x", "size": BIG}, {"name": "add.json", "size": 2}]})
        add(tar, "manifest.json", len(manifest), io.BytesIO(manifest))
        add(tar, f"{KEY}/x", BIG)

    compressed(path, write, window_log=27)


def big_manifest(text: Callable[[], str]) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(tar_of(CUBIN, JSON, manifest=text().encode())) and None


def manifest_with(entries: str = "[]", parts: str = "", more: str = "") -> str:
    head = json.dumps(PARTS)[:-1]
    return f'{{"schema":1,"tool_version":"0","parts":{head}{parts}}},"entries":{entries}{more}}}'


def in_entry(text: str) -> str:
    return manifest_with('[{"key":"' + "A" * 40 + '","kind":"tuning",' + text + "}]")


MANIFESTS: dict[str, Callable[[], str]] = {
    "variables": lambda: manifest_with(parts=',"variables":{' + joined(short('"#":""')) + "}"),
    "GPUs": lambda: manifest_with(parts=',"gpus":[' + joined(short('"#"')) + "]"),
    "a schema of lists": lambda: '{"schema":[' + joined(iter(lambda: "[]", "")) + "]}",
    "wide characters": lambda: manifest_with(parts=',"gpus":["\U0001f600' + "a" * (15 << 20) + '"]'),
    "files": lambda: in_entry('"files":[' + joined(short('{"name":"#","size":0}')) + "]"),
    "entries": lambda: manifest_with("[" + joined(numbered('{"key":"#","kind":"tuning","files":[]}')) + "]"),
    "kernels": lambda: manifest_with(
        "["
        + joined(
            numbered(
                '{"key":"#","kind":"kernel","kernel":"k","target":"cuda:1","triton":"#",'
                '"files":[{"name":"k.json","size":0}]}'
            )
        )
        + "]"
    ),
}


def database(more: str = "", manifest: bytes | None = None) -> Callable[[Path], None]:
    def write_pack(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA application_id = {APPLICATION}; BEGIN;")
            for table in TABLES:
                connection.execute(table)
            files = [{"name": "add.big", "size": BIG}, {"name": "add.json", "size": 2}]
            connection.execute("INSERT INTO pack VALUES (?)", (manifest or manifest_of(ENTRY | {"files": files}),))
            connection.execute("INSERT INTO entries VALUES (?, 'add')", (KEY,))
            connection.execute("INSERT INTO files VALUES (?, 'add.json', X'7b7d')", (KEY,))
            connection.execute("INSERT INTO files VALUES (?, 'add.big', zeroblob(?))", (KEY, BIG))
            connection.execute("COMMIT")
            connection.executescript(more)

    return write_pack


PACKS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "large files": ("p.tar.zst", big_files),
    "a header of its own": ("p.tar.zst", big_header(tarfile.XHDTYPE, first=True)),
    "a header after the manifest": ("p.tar.zst", big_header(tarfile.XHDTYPE, first=False)),
    "a header for all members": ("p.tar.zst", big_header(tarfile.XGLTYPE, first=False)),
    "a long name": ("p.tar.zst", big_header(tarfile.GNUTYPE_LONGNAME, first=False)),
    "a wide window": ("p.tar.zst", wide_window),
    **{f"a manifest of {name}": ("p.tar", big_manifest(text)) for name, text in MANIFESTS.items()},
    "a large database": ("p.sqlite", database()),
    "a database with a large manifest": ("p.sqlite", database(manifest=bytes(BIG))),
    "a database of tables": (
        "p.sqlite",
        database(
            "PRAGMA writable_schema = ON; WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 50000)"
            f" INSERT INTO sqlite_master SELECT 'table', 't'||n, 't'||n, 2, 'CREATE TABLE t'||n||'({COLUMNS})' FROM c;"
        ),
    ),
}


@pytest.mark.parametrize(("name", "write"), PACKS.values(), ids=PACKS)
def test_unpacking_takes_little_memory_whatever_the_pack_says(
    tmp_path: Path, name: str, write: Callable[[Path], None]
) -> None:
    skip_without("zstandard")
    write(tmp_path / name)

    assert peak_mb(tmp_path, "unpack", name, "--no-check", "--cache-dir", "new") < LIMIT_MB


def test_saying_why_kernels_miss_takes_little_memory_whatever_the_pack_says(tmp_path: Path) -> None:
    big_manifest(MANIFESTS["kernels"])(tmp_path / "p.tar")

    assert peak_mb(tmp_path, "why", "p.tar") < LIMIT_MB


def peak_mb(folder: Path, *words: str) -> int:
    """The most memory that a command of `cache` had, which fails in a line at most."""
    command = [sys.executable, "-c", PEAK, sys.executable, "-m", "triton_doctor", "cache", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)
    return int(done.stdout.split()[-1])

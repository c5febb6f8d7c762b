"""Packs from anybody: each of these ends in one line, and nothing is written beside the folder or overwritten in it."""

from __future__ import annotations

import io
import json
import os
import tarfile
from typing import TYPE_CHECKING

import pytest
import zstandard

from tests.machine.packs.conftest import KEYS
from triton_doctor.errors import DoctorError
from triton_doctor.machine.packs.install import install
from triton_doctor.machine.packs.pack import open_pack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

KEY = KEYS[0]
FILES = [{"name": "add.cubin", "size": 5}, {"name": "add.json", "size": 2}]
ENTRY = {"key": KEY, "kind": "kernel", "kernel": "add", "files": FILES}
PARTS = {
    "triton": None, "libtriton": None, "frontend": None, "python": "3.11", "abi": "cpython-311", "platform": "x86_64",
}  # fmt: skip
Member = tuple[str, bytes, dict[str, object]]
CUBIN: Member = (f"{KEY}/add.cubin", b"cubin", {})
JSON: Member = (f"{KEY}/add.json", b"{}", {})


def manifest_of(*entries: object, **more: object) -> bytes:
    return json.dumps({"schema": 1, "tool_version": "0", "parts": PARTS, "entries": entries} | more).encode()


def tar_of(*members: Member, manifest: bytes | None = None) -> bytes:
    """A tar file of `members`: name, content, and what of their header is set."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data, fields in [("manifest.json", manifest or manifest_of(ENTRY), {}), *members]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for field, value in fields.items():
                setattr(member, field, value)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def renamed(**fields: object) -> bytes:
    return tar_of(CUBIN, JSON, manifest=manifest_of(ENTRY | fields))


def bomb() -> bytes:
    """A few kilobytes that decompress to four gigabytes."""
    compressor = zstandard.ZstdCompressor().compressobj()
    head = tar_of(CUBIN, JSON)[:-1024]
    data = compressor.compress(head[: 512 + len(manifest_of(ENTRY))])
    zeros = bytes(1 << 20)
    return data + b"".join(compressor.compress(zeros) for _ in range(4096)) + compressor.flush()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(lambda: renamed(key="../../outside/" + "A" * 30), id="a way out in a key"),
        pytest.param(lambda: renamed(key="/" + "A" * 51), id="an absolute key"),
        pytest.param(lambda: renamed(files=[{"name": "../x", "size": 5}, FILES[1]]), id="a way out in a name"),
        pytest.param(lambda: renamed(files=[{"name": "/etc/x", "size": 5}, FILES[1]]), id="an absolute name"),
        pytest.param(lambda: renamed(files=[{"name": "..", "size": 5}, FILES[1]]), id="the folder above"),
        pytest.param(lambda: renamed(files=[{"name": "a\nb", "size": 5}, FILES[1]]), id="a name of two lines"),
        pytest.param(lambda: renamed(files=[FILES[0], FILES[0], FILES[1]]), id="a file twice in the manifest"),
        pytest.param(lambda: renamed(files=[{"name": "add.cubin", "size": 1 << 60}, FILES[1]]), id="a giant file"),
        pytest.param(lambda: renamed(files=[{"name": "__grp__add.json", "size": 5}, FILES[1]]), id="a group file"),
        pytest.param(lambda: renamed(kind="anything"), id="an unknown kind"),
        pytest.param(lambda: renamed(kernel="other"), id="no metadata"),
        pytest.param(lambda: tar_of(CUBIN, JSON, manifest=manifest_of(ENTRY, ENTRY)), id="an entry twice"),
        pytest.param(lambda: tar_of(CUBIN, JSON, manifest=manifest_of(ENTRY, schema=2)), id="a newer schema"),
        pytest.param(lambda: tar_of(CUBIN, JSON, manifest=b"[" * 100_000), id="a manifest without end"),
        pytest.param(lambda: tar_of(CUBIN, JSON, manifest=b"\xff"), id="a manifest that is no text"),
        pytest.param(lambda: tar_of(CUBIN, JSON, manifest=b'{"schema":1,"entries":[{}]}'), id="a manifest of others"),
        pytest.param(lambda: tar_of(CUBIN, CUBIN, JSON), id="a member twice"),
        pytest.param(lambda: tar_of(CUBIN, JSON, JSON), id="a member too many"),
        pytest.param(lambda: tar_of(CUBIN), id="a member too few"),
        pytest.param(lambda: tar_of(("/etc/x", b"cubin", {}), JSON), id="an absolute member"),
        pytest.param(lambda: tar_of((f"{KEY}/../../x", b"cubin", {}), JSON), id="a way out in a member"),
        pytest.param(
            lambda: tar_of((CUBIN[0], b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}), JSON), id="a link"
        ),
        pytest.param(
            lambda: tar_of((CUBIN[0], b"", {"type": tarfile.LNKTYPE, "linkname": JSON[0]}), JSON), id="a hard link"
        ),
        pytest.param(lambda: tar_of((CUBIN[0], b"", {"type": tarfile.CHRTYPE}), JSON), id="a device"),
        pytest.param(lambda: tar_of((CUBIN[0], b"", {"type": tarfile.FIFOTYPE}), JSON), id="a pipe"),
        pytest.param(lambda: tar_of((CUBIN[0], b"longer than the manifest says", {}), JSON), id="another size"),
        pytest.param(lambda: tar_of(CUBIN, JSON)[:2048], id="a tar file cut short"),
        pytest.param(lambda: zstandard.compress(tar_of(CUBIN, JSON))[:-30], id="a stream cut short"),
        pytest.param(lambda: b"\x28\xb5\x2f\xfd" + os.urandom(200), id="zstandard that is none"),
        pytest.param(bomb, id="a bomb"),
        pytest.param(lambda: b"SQLite format 3\0" + bytes(5000), id="SQLite that is none"),
        pytest.param(lambda: b"", id="nothing"),
        pytest.param(lambda: b"PK\x03\x04" + bytes(2000), id="another archive"),
    ],
)
def test_hostile_pack_is_one_line_and_writes_nothing(
    doctor: Callable[..., Outcome], tmp_path: Path, data: Callable[[], bytes]
) -> None:
    (tmp_path / "p.tar.zst").write_bytes(data())

    outcome = doctor("cache", "unpack", "p.tar.zst", "--cache-dir", "new", "--no-check")

    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.startswith("triton-doctor: p.tar.zst")
    assert len(outcome.err.splitlines()) == 2
    assert [path.name for path in tmp_path.iterdir() if path.name != "new"] == ["p.tar.zst"]
    left = [path.name for path in (tmp_path / "new").iterdir()] if (tmp_path / "new").exists() else []
    assert left in ([], [KEY])


def test_links_in_the_folder_are_not_followed(packed: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / KEYS[0]).symlink_to(victim)

    with open_pack(packed) as (_, entries):
        counts = install(entries, tmp_path / "new", seen_at=tmp_path / "new")

    assert list(victim.iterdir()) == []
    assert counts.unusable == [KEYS[0]]


def test_a_pipe_is_no_pack_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.tar.zst")

    with pytest.raises(DoctorError), open_pack(tmp_path / "p.tar.zst"):
        pass


def test_a_pack_larger_than_any_cache_is_refused(doctor: Callable[..., Outcome], tmp_path: Path) -> None:
    entries = [
        {"key": f"{number:052d}", "kind": "launcher", "files": [{"name": "cuda_utils.so", "size": 1 << 30}]}
        for number in range(70)
    ]
    (tmp_path / "p.tar").write_bytes(tar_of(manifest=manifest_of(*entries)))

    outcome = doctor("cache", "unpack", "p.tar", "--cache-dir", "new", "--no-check")

    assert outcome.status == 2
    assert "unpacks to 75,161,927,680 bytes" in outcome.err

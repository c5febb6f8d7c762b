"""A cache folder that cannot be written, is full, far away, or another's: each made so for real."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.machine.sick import as_its_owner, ask_env, in_own_mounts
from tests.runtime.tritons import triton_folder
from triton_doctor.finding import Severity
from triton_doctor.machine.cache_folder import CachePlace, locate_cache
from triton_doctor.machine.diagnose import diagnose
from triton_doctor.machine.facts import Machine
from triton_doctor.machine.probe_cache import find_mount, probe_cache

if TYPE_CHECKING:
    from pathlib import Path

NOBODY = 65534


def test_folder_without_permission_cannot_be_written(machine: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)

    said = ask_env(machine | {"TRITON_CACHE_DIR": str(folder / "kernels")}, before=as_its_owner())

    assert said.finding("TRD611")["severity"] == "error"
    assert said.finding("TRD611")["evidence"] == f"this user may not write into {folder}"
    assert said.status == 1
    assert list(folder.iterdir()) == []


def test_folder_on_a_read_only_file_system_cannot_be_written(machine: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "frozen"
    folder.mkdir()
    before = in_own_mounts(f"mount -t tmpfs -o ro,size=64k none {folder}")

    said = ask_env(machine | {"TRITON_CACHE_DIR": str(folder)}, before=before)

    assert "mounted read-only" in said.finding("TRD611")["evidence"]


def test_file_in_the_place_of_the_folder_cannot_be_written(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "kernels").write_text("")

    said = ask_env(machine | {"TRITON_CACHE_DIR": str(tmp_path / "kernels")})

    assert said.finding("TRD611")["evidence"] == f"{tmp_path / 'kernels'} is no folder"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder another's")
def test_folder_of_another_user_is_told(machine: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)

    said = ask_env(machine | {"TRITON_CACHE_DIR": str(folder)})

    assert said.finding("TRD611")["severity"] == "warning"


def test_tiny_file_system_is_nearly_full_and_lost_at_restart(machine: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    before = in_own_mounts(f"mount -t tmpfs -o size=256k none {folder}; head -c 250k /dev/zero > {folder}/full")

    said = ask_env(machine | {"TRITON_CACHE_DIR": str(folder)}, before=before)

    assert {"TRD613", "TRD614"} <= said.codes
    assert said.finding("TRD613")["severity"] == "error"
    assert said.document["facts"]["cache"]["file_system"]["kind"] == "tmpfs"


def test_layer_of_a_container_is_not_kept(machine: dict[str, str], tmp_path: Path) -> None:
    layers, folder = tmp_path / "layers", tmp_path / "root"
    layers.mkdir()
    folder.mkdir()
    options = f"lowerdir={layers}/image,upperdir={layers}/upper,workdir={layers}/work"
    before = in_own_mounts(
        f"mount -t tmpfs none {layers}; mkdir {layers}/image {layers}/upper {layers}/work; "
        f"mount -t overlay -o {options} none {folder}"
    )
    in_container = machine | {"container": "podman", "TRITON_CACHE_DIR": str(folder / "kernels")}

    said = ask_env(in_container, before=before)

    assert said.finding("TRD614")["evidence"].startswith("it lies in the container's own layer (overlay)")


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
31 22 0:45 / /home rw,relatime shared:1 - nfs4 server:/home rw
32 22 0:46 / /home/local rw - xfs /dev/vdb rw
33 22 0:47 / /mnt/with\\040blank rw - fuse.juicefs JuiceFS:x rw
34 22 0:48 / /over rw - nfs server:/over rw
35 34 0:49 / /over rw - tmpfs none rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param("/etc", "ext4", id="root"),
        pytest.param("/home/bob/.triton/cache", "nfs4", id="below a mount"),
        pytest.param("/home", "nfs4", id="the mount itself"),
        pytest.param("/homes", "ext4", id="a name that begins alike"),
        pytest.param("/home/local/x", "xfs", id="a mount in a mount"),
        pytest.param("/mnt/with blank/x", "fuse.juicefs", id="a blank in the name"),
        pytest.param("/over/x", "tmpfs", id="the later mount hides the earlier"),
    ],
)
def test_file_system_is_that_of_the_innermost_mount(tmp_path: Path, path: str, kind: str) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)

    assert find_mount(path, table)[0] == kind


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "lustre", "gpfs", "9p", "fuse.sshfs", "fuse.juicefs"])
def test_network_file_system_is_told(tmp_path: Path, kind: str) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"22 1 254:0 / / rw - ext4 /dev/vda rw\n31 22 0:45 / {tmp_path} rw - {kind} server:/x rw\n")

    cache = probe_cache(CachePlace(path=tmp_path / "kernels", set_by="TRITON_CACHE_DIR"), table)

    (found,) = [finding for finding in diagnose(Machine(cache=cache)) if finding.code == "TRD612"]
    assert found.evidence.startswith(f"{tmp_path} is {kind}")


@pytest.mark.parametrize(
    ("variables", "path", "set_by"),
    [
        pytest.param({"HOME": "/home/bob"}, "/home/bob/.triton/cache", "HOME", id="home"),
        pytest.param({"HOME": "/"}, "/.triton/cache", "HOME", id="a user without a home"),
        pytest.param({"HOME": "/h", "TRITON_HOME": "/t"}, "/t/.triton/cache", "TRITON_HOME", id="triton's home"),
        pytest.param({"TRITON_HOME": "/t", "TRITON_CACHE_DIR": " /c "}, "/c", "TRITON_CACHE_DIR", id="the folder wins"),
        pytest.param({"HOME": "/h", "TRITON_CACHE_DIR": " "}, "/h/.triton/cache", "HOME", id="a blank is nothing"),
    ],
)
def test_folder_is_where_triton_would_look(variables: dict[str, str], path: str, set_by: str) -> None:
    place = locate_cache(variables)

    assert (str(place.path), place.set_by) == (path, set_by)


def test_home_at_the_root_is_told(machine: dict[str, str]) -> None:
    said = ask_env(machine | {"HOME": "/"})

    assert said.finding("TRD614")["message"] == "HOME is /, so the cache folder is /.triton/cache"


@pytest.mark.parametrize(
    ("variable", "version", "severity"),
    [
        ("TRITON_CACHE_DIR", "3.2.0", None),
        ("TRITON_CACHE_DIR", "3.4.0", "error"),
        ("TRITON_CACHE_DIR", "3.9.0", "error"),
        ("TRITON_HOME", "3.2.0", "warning"),
        ("TRITON_HOME", "3.9.0", "warning"),
    ],
)
def test_empty_folder_is_reported_as_that_triton_takes_it(
    machine: dict[str, str], tmp_path: Path, variable: str, version: str, severity: str | None
) -> None:
    folder = triton_folder(version)
    empty = machine | {"PYTHONPATH": os.pathsep.join([machine["PYTHONPATH"], str(folder)]), variable: ""}
    program = "from triton.runtime.cache import get_cache_manager; get_cache_manager('ab' * 32).put('', 'k.ttir')"

    done = subprocess.run([sys.executable, "-c", program], env=empty, cwd=tmp_path, check=False, capture_output=True)
    said = ask_env(empty)

    assert (b"Could not create or locate cache dir" in done.stderr) is (severity == "error")
    assert (tmp_path / ".triton" / "cache").is_dir() is (severity == "warning")
    assert [found["severity"] for found in said.document["findings"] if found["code"] == "TRD614"] == (
        [severity] if severity else []
    )


def test_user_without_a_home_has_no_place_for_a_cache() -> None:
    (found,) = diagnose(Machine(cache=None))

    assert (found.code, found.severity) == ("TRD614", Severity.ERROR)

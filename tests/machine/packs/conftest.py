"""Caches and packs of them: made by hand, or by a real Triton."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.runtime.tritons import Runner, triton_folder
from tests.tritons import skip_without
from triton_doctor.machine.packs.gather import gather
from triton_doctor.machine.packs.manifest import KeyParts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEYS = ("A" * 52, "B" * 52)
PARTS = KeyParts(triton="3.6.0", libtriton="1", frontend="2", python="3.11", abi="cpython-311", platform="x86_64")


@pytest.fixture
def runner(tmp_path: Path) -> Callable[[str], Runner]:
    return lambda version: Runner(triton_folder(version), tmp_path / "kernels")


def make_kernel(folder: Path, key: str, kernel: str = "add", **metadata: object) -> Path:
    """An entry as Triton leaves it, with all that a compile leaves."""
    path = folder / key
    path.mkdir(parents=True)
    head = {"hash": "0" * 64, "target": {"backend": "cuda", "arch": 90, "warp_size": 32}, "triton_version": "3.6.0"}
    (path / f"{kernel}.json").write_text(json.dumps(head | metadata))
    for suffix in ("source", "ttir", "ttgir", "llir", "ptx", "cubin"):
        (path / f"{kernel}.{suffix}").write_text(f"{suffix} of {key}")
    children = {file.name: str(file) for file in path.iterdir()}
    (path / f"__grp__{kernel}.json").write_text(json.dumps({"child_paths": children}))
    return path


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A pack of two kernels."""
    skip_without("zstandard")
    from triton_doctor.machine.packs.pack import write_pack

    for key in KEYS:
        make_kernel(tmp_path / "cache", key)
    write_pack(gather(tmp_path / "cache", PARTS), tmp_path / "two.tar.zst")
    return tmp_path / "two.tar.zst"

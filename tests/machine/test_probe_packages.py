"""Which triton an import would find, and which it should: distributions installed into folders of the path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.machine.sick import REPOSITORY, ask_env, make_distribution
from tests.tritons import skip_without

if TYPE_CHECKING:
    from pathlib import Path


def on_path(machine: dict[str, str], *folders: Path) -> dict[str, str]:
    return machine | {"PYTHONPATH": os.pathsep.join([machine["PYTHONPATH"], *map(str, folders)])}


def make_torch(folder: Path, wants: str) -> None:
    """An installed torch that wants `wants`, a line of its requirements."""
    metadata = folder / "torch-9.9.9.dist-info"
    for path in (folder / "torch", metadata):
        path.mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text("raise ImportError('nobody may import this')\n")
    (folder / "torch" / "version.py").write_text("cuda: str | None = '12.8'\n")
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: 9.9.9\nRequires-Dist: {wants}\n")


@pytest.mark.parametrize(
    "other", ["pytorch-triton", "pytorch-triton-rocm", "triton-windows", "fbtriton", "triton-nightly"]
)
def test_two_distributions_in_one_folder_are_an_error(machine: dict[str, str], tmp_path: Path, other: str) -> None:
    make_distribution(tmp_path, "triton", "3.6.0")
    make_distribution(tmp_path, other, "3.2.0")

    finding = ask_env(on_path(machine, tmp_path)).finding("TRD625")

    assert finding["severity"] == "error"
    assert {"triton 3.6.0", f"{other} 3.2.0"} <= set(finding["message"].partition(": ")[2].split(", "))


def test_distribution_that_hides_another_is_a_warning(machine: dict[str, str], tmp_path: Path) -> None:
    first = make_distribution(tmp_path / "first", "pytorch-triton", "3.2.0")
    second = make_distribution(tmp_path / "second", "triton", "3.6.0")

    finding = ask_env(on_path(machine, first, second)).finding("TRD625")

    assert (finding["severity"], finding["evidence"]) == (
        "warning",
        f"an import finds pytorch-triton 3.2.0 in {first}",
    )


def test_folder_that_is_on_the_path_twice_counts_once(machine: dict[str, str], tmp_path: Path) -> None:
    folder = make_distribution(tmp_path / "lib", "triton", "3.6.0")
    (tmp_path / "lib64").symlink_to(folder)

    said = ask_env(on_path(machine, tmp_path / "lib64", folder))

    assert "TRD625" not in said.codes
    assert said.document["facts"]["triton"]["name"] == "triton"


def test_distribution_that_only_has_the_word_in_its_name_is_none(machine: dict[str, str], tmp_path: Path) -> None:
    make_distribution(tmp_path, "triton", "3.6.0")
    make_distribution(tmp_path, "tritonclient", "2.50.0")
    (tmp_path / "tritonclient-2.50.0.dist-info" / "RECORD").write_text("tritonclient/__init__.py,,\n")

    assert "TRD625" not in ask_env(on_path(machine, tmp_path)).codes


@pytest.mark.parametrize(
    ("wants", "told"),
    [
        pytest.param('triton==3.5.1; platform_system == "Linux"', True, id="another release"),
        pytest.param("pytorch-triton==3.4.0+gitabc", True, id="another under another name"),
        pytest.param("triton==3.6.0", False, id="the same"),
        pytest.param("triton==3.6.0+git1234", False, id="the same, built elsewhere"),
        pytest.param('triton==3.5.1; extra == "all"', False, id="only with an extra"),
        pytest.param("sympy==1.13", False, id="none"),
    ],
)
def test_triton_that_torch_pins_is_compared(machine: dict[str, str], tmp_path: Path, wants: str, told: bool) -> None:
    make_distribution(tmp_path, "triton", "3.6.0")
    make_torch(tmp_path, wants)

    assert ("TRD626" in ask_env(on_path(machine, tmp_path)).codes) is told


def test_version_is_read_where_no_distribution_tells_it(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("__version__ = '3.3.1'\n")

    said = ask_env(on_path(machine, tmp_path))

    assert said.document["facts"]["triton"]["folder"] == str(tmp_path)
    assert said.document["triton_version"] == "3.3"


def test_neither_torch_nor_triton_is_imported(machine: dict[str, str], tmp_path: Path) -> None:
    make_torch(tmp_path, "triton==3.6.0")
    (make_distribution(tmp_path, "triton", "3.6.0") / "triton" / "__init__.py").write_text("raise ImportError\n")

    said = ask_env(on_path(machine, tmp_path))

    assert said.document["facts"]["torch"] == {"name": "torch", "version": "9.9.9", "folder": str(tmp_path)}
    assert said.document["facts"]["triton"]["version"] == "3.6.0"


def test_interpreter_without_numpy_is_told(machine: dict[str, str], site: Path, tmp_path: Path) -> None:
    skip_without("numpy")
    bare = make_distribution(tmp_path / "bare", "triton", "3.6.0")
    for item in site.iterdir():
        if not item.name.startswith("numpy"):
            (bare / item.name).symlink_to(item.resolve())
    path = os.pathsep.join([str(REPOSITORY), str(bare)])

    said = ask_env(machine | {"PYTHONPATH": path, "TRITON_INTERPRET": "1"})

    assert said.finding("TRD628")["command"].endswith("-m pip install numpy")
    assert "TRD628" not in ask_env(on_path(machine, bare) | {"TRITON_INTERPRET": "1"}).codes

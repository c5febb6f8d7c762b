"""The table of launch options against the sources of released Tritons."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.tritons import triton_folder
from triton_doctor.static.variability.models.python import AMD, CONFIG_PARAMETERS, LAUNCH_OPTIONS, NVIDIA, is_default

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = ("3.2.0", "3.4.0", "3.6.0", "3.9.0")
CLASSES = {NVIDIA: "CUDAOptions", AMD: "HIPOptions"}


def read_class(path: Path, name: str) -> list[ast.stmt]:
    """The body of the class `name` in the file at `path`."""
    classes = [one for one in ast.parse(path.read_bytes()).body if isinstance(one, ast.ClassDef) and one.name == name]
    return classes[0].body


def read_defaults(version: str, backend: str) -> dict[str, str]:
    """The fields of a backend's options that have a default, each as it is written."""
    body = read_class(triton_folder(version) / f"triton/backends/{backend}/compiler.py", CLASSES[backend])
    fields = [one for one in body if isinstance(one, ast.AnnAssign) and one.value is not None]
    return {ast.unparse(one.target): ast.unparse(one.value) for one in fields if one.value is not None}


@pytest.mark.parametrize("backend", [NVIDIA, AMD])
def test_the_default_of_an_option_is_that_of_every_release_that_has_it(backend: str) -> None:
    releases = [read_defaults(version, backend) for version in VERSIONS]

    for option, defaults in LAUNCH_OPTIONS.items():
        found = {release[option] for release in releases if option in release}
        # Where releases differ the table has no default.
        assert {repr(defaults[backend])} == found if backend in defaults else len(found) != 1, option


@pytest.mark.parametrize("version", VERSIONS)
def test_the_parameters_of_a_config_stand_in_that_order(version: str) -> None:
    body = read_class(triton_folder(version) / "triton/runtime/autotuner.py", "Config")
    init = next(one for one in body if isinstance(one, ast.FunctionDef) and one.name == "__init__")

    assert tuple(one.arg for one in init.args.args[1:])[: len(CONFIG_PARAMETERS)] == CONFIG_PARAMETERS


@pytest.mark.parametrize(
    ("option", "value", "is_left_out"),
    [
        pytest.param("num_warps", 4, True, id="on all backends"),
        pytest.param("num_stages", 2, True, id="on one of them"),
        pytest.param("num_stages", 5, False, id="on none"),
        pytest.param("waves_per_eu", 0, False, id="differs between releases"),
        pytest.param("waves_per_eu", None, True, id="None is passed over"),
    ],
)
def test_is_default(option: str, value: object, *, is_left_out: bool) -> None:
    assert is_default(option, value) is is_left_out

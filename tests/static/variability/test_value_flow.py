"""Sizes that pass through functions, lists and wrappers: how often the constexpr that a launch gets is found to change.

The cases are in `fixtures/value_flow.md`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.settings import load_settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.launches.argument_positions import match_positions
from triton_doctor.static.python.printing import spell
from triton_doctor.static.sources.files import find_files
from triton_doctor.static.variability.queries.parameters import parameters

ROOT = Path(__file__).parents[3]
PRELUDE = """
from __future__ import annotations
import functools
import math
from dataclasses import dataclass
from typing import NamedTuple
import torch
import triton
import triton.language as tl
from einops import rearrange
from jaxtyping import Float

"""
KERNEL = """
@triton.jit
def kernel(x, SIZE: tl.constexpr):
    tl.store(x + tl.arange(0, 16), SIZE)
"""
# What is not followed yet is an expected failure.
CASE = re.compile(
    r"^### (?P<name>[^\n]+): `(?P<kind>\w+)`(?P<missed>, not followed yet)?\n\n```python\n(?P<code>.*?)```$",
    re.MULTILINE | re.DOTALL,
)
CASES = (ROOT / "fixtures" / "value_flow.md").read_text(encoding="utf-8")
ROWS = [
    pytest.param(
        case["code"],
        case["kind"],
        id=case["name"],
        marks=[pytest.mark.xfail(strict=True, reason="not followed yet")] if case["missed"] else [],
    )
    for case in CASE.finditer(CASES)
]
assert len(ROWS) == CASES.count("\n### "), "a heading or its code is misspelt"


@emptying_scan_caches()
def kind_of_size(folder: Path) -> str:
    """How often `SIZE` of `kernel` is found to change."""
    settings = load_settings(folder)
    files = list(find_files([folder], settings, cwd=folder))
    (found,) = parameters(whole_project(Database(files), settings, folder))
    return found.worst.kind.label if found.worst is not None else "unknown"


@pytest.mark.parametrize(("code", "expected"), ROWS)
def test_size_keeps_its_kind_on_the_way_to_the_launch(code: str, expected: str, tmp_path: Path) -> None:
    ops, _, sizes = code.partition("# sizes.py\n")
    (tmp_path / "ops.py").write_text(PRELUDE + KERNEL + ops, encoding="utf-8")
    (tmp_path / "sizes.py").write_text(sizes, encoding="utf-8")

    assert kind_of_size(tmp_path) == expected


STRIDES = """
@triton.jit
def strided(x, y, z, xs0, xs1, ys0, ys1, ys2, zs0, zs1, zs2, SIZE: tl.constexpr):
    tl.store(x + tl.arange(0, 16), SIZE)

def launch(x: Float[torch.Tensor, "num_tokens dim"], y, z):
    strided[(1,)](x, y, z, *x.stride(), *y.stride(), *z.stride(), 16)
"""


@pytest.mark.parametrize(("last", "bound"), [("ys2", ["ys0", "ys1", "ys2", "zs0"]), ("w0", [])])
@emptying_scan_caches()
def test_strides_of_two_tensors_go_to_parameters_that_are_named_alike(
    last: str, bound: list[str], tmp_path: Path
) -> None:
    (tmp_path / "ops.py").write_text(PRELUDE + STRIDES.replace("ys2", last), encoding="utf-8")
    settings = load_settings(tmp_path)
    project = whole_project(Database(list(find_files([tmp_path], settings, cwd=tmp_path))), settings, tmp_path)
    (launch,) = project.launches
    counts = {"x.stride()": 2}

    found = match_positions(launch.launch, launch.kernels[0], lambda starred: counts.get(spell(starred)))

    assert [param for param, _, _ in found if param in ("ys0", "ys1", last, "zs0")] == bound


NAMING = """
@triton.jit
def naming(q, N_CTX, heads, SIZE: tl.constexpr):
    tl.store(q + tl.arange(0, 16), SIZE)

def launch(q):
    q = q.contiguous()
    blocks = triton.cdiv(q.shape[1], 64)
    naming[(blocks,)](q, N_CTX=q.shape[1], heads=q.shape[2], SIZE=blocks)
"""


@pytest.mark.parametrize(
    ("written", "instead", "kind"),
    [("", "", "per_call"), ("N_CTX", "things", "unknown"), ("SIZE", "BLOCK", "unknown")],
)
@emptying_scan_caches()
def test_axis_is_what_another_parameter_of_the_launch_is_called(
    written: str, instead: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "ops.py").write_text(PRELUDE + NAMING.replace(written, instead), encoding="utf-8")
    settings = load_settings(tmp_path)
    files = list(find_files([tmp_path], settings, cwd=tmp_path))

    (found,) = parameters(whole_project(Database(files), settings, tmp_path))

    assert (found.worst.kind.label if found.worst is not None else "unknown") == kind


OUT_OF_SIGHT = """
from elsewhere import CONFIGS

@triton.autotune(CONFIGS, key=["n"])
@triton.jit
def tuned(q, norms, n, width, DIM: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(q + tl.arange(0, 16), n)

def launch(q, norms, n, width):
    tuned[(1,)](q, *norms, n, width, DIM=64)
"""


@emptying_scan_caches()
def test_arguments_behind_a_star_end_before_the_first_that_is_given_by_name(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(PRELUDE + OUT_OF_SIGHT, encoding="utf-8")
    settings = load_settings(tmp_path)
    project = whole_project(Database(list(find_files([tmp_path], settings, cwd=tmp_path))), settings, tmp_path)
    (launch,) = project.launches

    found = match_positions(launch.launch, launch.kernels[0], lambda _: None)

    assert [(param, spell(expr)) for param, _, expr in found if param in ("n", "width")] == [
        ("n", "n"),
        ("width", "width"),
    ]


READ_OUT = """
@triton.jit
def kernel(out, n: tl.constexpr):
    tl.store(out, n)

def launch(out, lengths):
    rows = lengths.view(-1)
    kernel[(1,)](out, int(rows.max()))
"""


@emptying_scan_caches()
def test_what_is_read_out_of_a_tensor_is_spelled_as_the_user_wrote_it(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(PRELUDE + READ_OUT, encoding="utf-8")
    settings = load_settings(tmp_path)
    project = whole_project(Database(list(find_files([tmp_path], settings, cwd=tmp_path))), settings, tmp_path)

    (found,) = parameters(project)

    assert found.worst is not None
    assert found.worst.number.trail[0].step().text == "`int(rows.max())` is read from the data of a tensor"

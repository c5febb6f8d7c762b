"""Which configs a kernel is tuned over: a list that is written out, put together, filled, returned or imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.static.variability.test_queries import project_of
from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.static.variability.queries.configs import config_counts, describe_configs, find_configs

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = """\
import itertools
import os

import triton
import triton.language as tl

{before}


@triton.autotune(configs={configs}, key=["n"])
@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


{after}
"""
A, B = 'triton.Config({"BLOCK": 64})', 'triton.Config({"BLOCK": 128}, num_warps=8)'
APPENDED = """
def configs(blocks, largest=256):
    found = []
    for block in blocks:
        for warps in (4, 8, 16):
            found.append(triton.Config({"BLOCK": block}, num_warps=warps))
    found.append(triton.Config({"BLOCK": largest}))
    return found
"""
CHOSEN = f"""
def configs():
    if torch.version.hip:
        return [{A}]
    return [{A}, {B}]
"""
ONE_OF = """
def one_of(block):
    return triton.Config({"BLOCK": block})
"""
IN_A_LOOP = f"""
found = []
for block in range(os.cpu_count()):
    found += [{A}]
"""


@pytest.mark.parametrize(
    ("before", "configs", "counts"),
    [
        pytest.param("", f"[{A}, {B}]", {2}, id="written out"),
        pytest.param("", f"[{A}, *[{B} for warps in range(2, 6)]]", {5}, id="with a starred list"),
        pytest.param(f"first = [{A}]", f"first + [{B} for warps in (1, 2)]", {3}, id="a sum"),
        pytest.param("", f"[{A} for _ in (1, 2, 3) for _ in range(0, 10, 4)]", {9}, id="two loops"),
        pytest.param("", f"[{A} for _ in (1, 2, 3) for w in (4, 8) if w > 4]", set(), id="a loop that leaves some out"),
        pytest.param("", f"[{A} for _ in [128] for w in ([8]) if w < 16]", {1}, id="a loop that keeps one or none"),
        pytest.param("", f"[{A} for a, b in itertools.product([1, 2], [3, 4, 5])]", {6}, id="a product"),
        pytest.param(APPENDED, "configs([32, 64, 128])", {10}, id="appended in a function"),
        pytest.param(APPENDED, "configs(os.listdir())", set(), id="appended for each of something unknown"),
        pytest.param(f"found = [{A}]\nfound.append({B})", "found", {2}, id="appended to"),
        pytest.param(
            f"found = [{A}]\nif os.name:\n    found.append({B})", "found", set(), id="appended to in a branch"
        ),
        pytest.param(f"found = [{A}]\nfound += [{B}]", "found", {2}, id="added to"),
        pytest.param(IN_A_LOOP, "found", set(), id="added to in a loop"),
        pytest.param(CHOSEN, "configs()", {1, 2}, id="one list or another"),
        pytest.param("", f"[{A}, {B}] if os.name else [{B}, {A}]", {2}, id="one list or another as long"),
        pytest.param("from elsewhere import configs", "configs()", set(), id="out of sight"),
    ],
)
@emptying_scan_caches()
def test_configs_are_counted(before: str, configs: str, counts: set[int], tmp_path: Path) -> None:
    project = project_of(tmp_path, a=KERNEL.format(before=before, configs=configs, after=""))
    (kernel,) = project.kernels()

    assert config_counts(project, kernel) == counts
    assert describe_configs(project, kernel) == (f"all {max(counts)} configs" if len(counts) == 1 else "its configs")


@emptying_scan_caches()
def test_list_that_is_assigned_after_the_kernel_does_not_tune_it(tmp_path: Path) -> None:
    text = KERNEL.format(before=f"found = [{A}, {B}]", configs="found", after=f"found = [{A}]")
    project = project_of(tmp_path, a=text)
    (kernel,) = project.kernels()

    assert config_counts(project, kernel) == {2}


@emptying_scan_caches()
def test_list_of_the_function_that_makes_the_kernel_tunes_it(tmp_path: Path) -> None:
    before, _, kernel_text = KERNEL.partition("{before}")
    inner = f"    configs = [{A}, {B}]\n" + kernel_text.format(configs="configs", after="return double").replace(
        "\n", "\n    "
    )
    project = project_of(tmp_path, a=f"{before}\nconfigs = [{A}]\n\n\ndef make():\n{inner}\n")
    (kernel,) = project.kernels()

    assert config_counts(project, kernel) == {2}


@pytest.mark.parametrize(
    ("before", "configs", "blocks"),
    [
        pytest.param("", f"[{A}, {B}]", {64, 128}, id="written out"),
        pytest.param("LARGE = 512", '[triton.Config({"BLOCK": LARGE})]', {512}, id="by a name"),
        pytest.param("", '[triton.Config({"BLOCK": b}) for b in (16, 32) for w in (4, 8)]', {16, 32}, id="by a loop"),
        pytest.param("", '[triton.Config({"BLOCK": b}) for w in (4, 8) for b in (16, 32)]', {16, 32}, id="by a second"),
        pytest.param(
            "", '[triton.Config({"BLOCK": b}) for b in (16, 48) if b != 48]', set(), id="by a loop with a test"
        ),
        pytest.param(ONE_OF, "[one_of(32), one_of(64)]", {32, 64}, id="by a function"),
    ],
)
@emptying_scan_caches()
def test_what_configs_give_a_parameter_is_found(before: str, configs: str, blocks: set[int], tmp_path: Path) -> None:
    project = project_of(tmp_path, a=KERNEL.format(before=before, configs=configs, after=""))
    (kernel,) = project.kernels()

    found = {one.value for config in find_configs(project, kernel) for one in config.parameters["BLOCK"]}

    assert found == blocks


@emptying_scan_caches()
def test_options_of_a_config_are_those_that_it_sets(tmp_path: Path) -> None:
    config = 'triton.Config({"BLOCK": 64}, 4, num_stages=3, pre_hook=None)'
    project = project_of(tmp_path, a=KERNEL.format(before="", configs=f"[{config}]", after=""))
    (kernel,) = project.kernels()

    assert [one.options for one in find_configs(project, kernel)] == [{"kwargs", "num_warps", "num_stages"}]

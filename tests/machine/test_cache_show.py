"""What a cache tells of recompiles after the fact: caches that real Tritons filled, for a GPU that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.machine.sick import ask_env
from tests.runtime.tritons import VERSIONS, Runner, triton_folder
from triton_doctor.machine.cache_entries import read_entries
from triton_doctor.machine.cache_source import CodePlace, read_kernel_source
from triton_doctor.machine.cache_variants import KernelStory, describe_variants

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

PROGRAMS = Path(__file__).parent / "programs"


def fill(program: str, version: str, folder: Path) -> Path:
    """The cache folder that `program` leaves under Triton `version`."""
    kernels = folder / "kernels"
    Runner(triton_folder(version), kernels)(str(PROGRAMS / program))
    return kernels


def story_of(kernel: str, folder: Path) -> KernelStory:
    (story,) = describe_variants(folder, [entry for entry in read_entries(folder) if entry.kernel == kernel])
    return story


@pytest.mark.parametrize("version", VERSIONS)
def test_parameters_of_a_recompile_storm_are_named_with_their_values(
    doctor: Callable[..., Outcome], machine: dict[str, str], tmp_path: Path, version: str
) -> None:
    folder = fill("ragged_mask_left.py", version, tmp_path)

    kernel = story_of("ragged_mask_kernel", folder)
    lengths = tuple(str(900 + 7 * step) for step in range(40))
    differences = {found.name: found for found in kernel.differences}
    assert kernel.place
    assert (len(kernel.variants), kernel.target, kernel.place.line) == (40, "cuda:90", 18)
    assert list(differences) == ["max_kv_len_per_req", "stride_mask_qo", "bs", "stride_mask_bs"]
    assert differences["max_kv_len_per_req"].values == lengths
    assert differences["stride_mask_qo"].values == lengths
    assert differences["bs"].values == tuple(str(bs) for bs in range(2, 10))
    assert differences["stride_mask_bs"].part == "argument"

    flood = ask_env(machine | {"TRITON_CACHE_DIR": str(folder)}).finding("TRD615")
    assert "`ragged_mask_kernel` has 40 variants" in flood["message"]
    assert flood["evidence"].startswith("`max_kv_len_per_req` has 40 values among those read (900, 907,")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_of_difference_is_told(tmp_path: Path, version: str) -> None:
    story = story_of("scale", fill("variants_left.py", version, tmp_path))

    found = {(difference.part, difference.name): difference for difference in story.differences}
    assert len(story.variants) == 6
    assert found["constexpr", "TILES"].count == 3
    assert found["constexpr", "TILES"].values == ()
    assert found["argument", "x_ptr"].values == ("ptr<f16>, divisible by 16", "ptr<f32>, divisible by 16")
    assert found["argument", "n"].values == ("i32", "i32, divisible by 16")
    assert found["option", "num_warps"].values == ("4", "8")
    assert ("constexpr", "WIDTH") not in found


SOURCE = """\
import triton.language as tl

class Holder:
    def kernel(x_ptr, n, A: tl.constexpr, B: 'tl.constexpr', C=1):
        y = (x_ptr * A + n) + tl.arange(0, B)
        z = n * (A * 2) + y * (A * B)
        return A * 2 + z < n + (y - B)
"""


@pytest.mark.parametrize(
    ("at", "names", "alone"),
    [
        pytest.param("x_ptr * A", ("A",), True, id="an operand"),
        pytest.param("A + n", ("A",), True, id="the parameter itself"),
        pytest.param("B)\n        z", ("B",), True, id="the end of a range"),
        pytest.param("A * 2) +", ("A",), False, id="a product that is computed while compiling"),
        pytest.param("n * (A * 2)", ("A", "B"), False, id="a sum of two products"),
        pytest.param("A * B", ("A", "B"), False, id="two parameters"),
        pytest.param("A * 2 + z", ("A", "B"), False, id="a comparison of sums"),
        pytest.param("B)\n", ("B",), True, id="the end of a difference"),
        pytest.param("tl.arange", ("B",), True, id="a range"),
    ],
)
def test_place_names_the_parameters_of_its_expression(
    tmp_path: Path, at: str, names: tuple[str, ...], alone: bool
) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(SOURCE)
    source = read_kernel_source(CodePlace(str(path), 4, 1))
    before = SOURCE[: SOURCE.index(at)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n") - 1

    assert source is not None
    naming = source.naming(CodePlace(str(path), line, column - 4 + 1), source.constexprs)

    assert source.constexprs == ("A", "B")
    assert naming is not None
    assert (naming.names, naming.alone) == (names, alone)


def test_constants_are_told_by_their_place_where_the_source_is_gone(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text((PROGRAMS / "variants_left.py").read_text())
    kernels = tmp_path / "kernels"
    Runner(triton_folder("3.6.0"), kernels)(str(program))
    program.unlink()

    story = story_of("scale", kernels)

    constants = [difference for difference in story.differences if difference.part == "constant"]
    assert constants[0].count == 3
    assert constants[0].values == ("192", "320", "448")
    assert constants[0].name.startswith(f"{program}:")
    assert not [difference for difference in story.differences if difference.part == "constexpr"]


def test_cache_without_intermediate_code_tells_options_only(tmp_path: Path) -> None:
    kernels = fill("variants_left.py", "3.6.0", tmp_path)
    for path in kernels.glob("*/*.ttir"):
        path.unlink()

    story = story_of("scale", kernels)

    assert [(difference.part, difference.name) for difference in story.differences] == [("option", "num_warps")]


@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
def test_constexprs_without_a_trace_are_named(doctor: Callable[..., Outcome], tmp_path: Path, version: str) -> None:
    folder = fill("flags_left.py", version, tmp_path)

    assert doctor("cache", "show", "negate", "--cache-dir", str(folder)).out.splitlines()[1:] == [
        "  constexprs that leave no trace in the IR: bs, FLAG",
        "    6 variants have the same IR as another",
    ]
    # Until Triton 3.5 it cannot be told which argument was compiled in, and no other is blamed.
    assert "x_ptr" not in doctor("cache", "show", "fill", "--cache-dir", str(folder)).out

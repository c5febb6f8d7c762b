"""What moves the keys of the kernels of a call that was made up, by which axis, and the files written of it."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.explore.project import find_in
from tests.tritons import skip_without
from triton_doctor.explore.project_sweep import SweepRequest, sweep_project
from triton_doctor.explore.written import write_drivers
from triton_doctor.runtime.recording_files import read_file

pytestmark = pytest.mark.xdist_group("varied calls")

KERNELS = """\
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rows_kernel(x_ptr, n, ROWS: tl.constexpr, BLOCK: tl.constexpr, HEADS: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


@triton.autotune([triton.Config({"SIZE": 16 << n}) for n in range(4)], key=["n"])
@triton.jit
def tuned_kernel(x_ptr, n, SIZE: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, SIZE), 1.0)


def launch_rows(y: torch.Tensor, n_rows: int, length: int):
    rows_kernel[(1,)](y, n_rows, ROWS=triton.cdiv(n_rows, 132), BLOCK=triton.next_power_of_2(length), HEADS=4)


def norm(x: torch.Tensor):
    batch, length, dim = x.shape
    launch_rows(x, batch * length, length)
    return x


def partial_sums(x: torch.Tensor):
    blocks = triton.cdiv(x.numel(), 1024)
    rows_kernel[(1,)](x, blocks, ROWS=4, BLOCK=triton.next_power_of_2(blocks), HEADS=4)
    return x


def tuned(x: torch.Tensor):
    rows, columns = x.shape
    tuned_kernel[(rows,)](x, columns)
    return x


class Scale(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: torch.Tensor):
        rows, dim = x.shape
        if dim != self.weight.shape[0]:
            raise ValueError(f"expected {self.weight.shape[0]}, got {dim}")
        rows_kernel[(rows,)](x, 5, ROWS=dim, BLOCK=64, HEADS=4)
        return x
"""
PAIRS = """\
import torch

from kernels import rows_kernel


def free(q: torch.Tensor, k: torch.Tensor):
    batch, length = q.shape
    batch, length = k.shape
    rows_kernel[(1,)](q, 5, ROWS=length, BLOCK=64, HEADS=4)
    return q


def tied(q: torch.Tensor, k: torch.Tensor):
    batch, length = q.shape
    assert k.shape == q.shape
    rows_kernel[(1,)](q, 5, ROWS=length, BLOCK=64, HEADS=4)
    return q


def chunked(x: torch.Tensor):
    rows, length = x.shape
    assert length % 64 == 0
    rows_kernel[(rows,)](x, 5, ROWS=length // 64, BLOCK=64, HEADS=4)
    return x


def below(q: torch.Tensor, k: torch.Tensor):
    batch, length = q.shape
    batch, length = k.shape
    assert k.shape[1] <= q.shape[1]
    rows_kernel[(1,)](q, 5, ROWS=length, BLOCK=64, HEADS=4)
    return q


def padded(x: torch.Tensor, lengths: torch.Tensor | None = None):
    rows, length = x.shape
    if lengths is None:
        assert length & (length - 1) == 0, "without lengths, a power of two"
    else:
        assert lengths.dtype is torch.int32, f"lengths must be int32, got {lengths.dtype}"
    rows_kernel[(rows,)](x, 5, ROWS=length, BLOCK=64, HEADS=4)
    return x


def power(x: torch.Tensor):
    rows, length = x.shape
    assert length & (length - 1) == 0
    rows_kernel[(rows,)](x, 5, ROWS=length, BLOCK=64, HEADS=4)
    return x
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A project, what was found in it, and its outcomes by the names of entries."""
    skip_without("torch", "triton")
    folder = tmp_path_factory.mktemp("varied")
    found = find_in(folder, {"kernels.py": KERNELS, "pairs.py": PAIRS})
    done = sweep_project(found, SweepRequest(jobs=1, wants_tests=True), on_progress=lambda _done, _reached: None)
    return folder, found, {outcome.entry.partition(":")[2]: outcome for outcome in done.outcomes}


def the_move(swept, entry, name):
    """The first call of an entry, its only move of the part `name`, and the axes that this follows."""
    call = swept[2][entry].calls[0]
    (move,) = (move for move in call.moves if move.name == name)
    axes = {axis.name: axis for axis in call.axes}
    return call, move, [axes[axis] for axis in move.follows]


def places(axis):
    return [(place.argument, place.axis) for place in axis.places]


@pytest.mark.parametrize(
    ("entry", "name", "formula", "growth"),
    [
        pytest.param("norm", "BLOCK", "next_power_of_2(length)", "log2", id="one axis"),
        pytest.param("norm", "ROWS", "cdiv(batch*length, 132)", "unbounded", id="two axes"),
        pytest.param("norm", "n", "batch*length", "bounded", id="classes of an integer"),
        pytest.param("chunked", "ROWS", "length // 64", "unbounded", id="an axis of multiples of 64"),
        pytest.param("power", "ROWS", "length", "log2", id="an axis of powers of two"),
    ],
)
def test_part_is_a_formula_of_the_axes_that_move_it(swept, entry, name, formula, growth):
    _, move, _ = the_move(swept, entry, name)

    assert (move.formula, move.growth) == (formula, growth)
    assert len(move.values) >= 5


def test_values_that_are_powers_of_two_do_not_grow_with_each_size_whatever_their_formula(swept):
    moves = [move for call in swept[2]["partial_sums"].calls for move in call.moves if move.name == "BLOCK"]

    assert len(moves) > 1
    assert "unbounded" not in {move.growth for move in moves}


def test_axis_that_can_differ_moves_alone(swept):
    _, move, (axis,) = the_move(swept, "free", "ROWS")

    assert places(axis) == [("k", 1)]
    assert move.formula == axis.name == "k_length"


def test_axis_that_must_be_less_than_another_is_not_tied_to_it(swept):
    _, move, (axis,) = the_move(swept, "below", "ROWS")

    assert places(axis) == [("k", 1)]
    assert move.formula == axis.name == "k_length"


def test_sizes_that_fail_are_tried_with_another_argument(swept):
    first, second = swept[2]["padded"].calls
    (move,) = (move for move in second.moves if move.name == "ROWS")

    assert "lengths" not in first.arguments
    assert "lengths" in second.arguments
    assert (move.formula, move.growth) == ("length", "unbounded")


def test_axes_that_must_be_equal_move_together(swept):
    _, move, (axis,) = the_move(swept, "tied", "ROWS")

    assert places(axis) == [("q", 1), ("k", 1)]
    assert move.formula == axis.name


def test_axis_that_a_module_fixes_is_tied_to_its_constructor_and_parameter(swept):
    _, _, (axis,) = the_move(swept, "Scale", "ROWS")

    assert places(axis) == [("init.dim", None), ("x", 1)]
    assert {("constructor", "init.dim"), ("parameter", "weight.0")} <= set(axis.tied_to)


def test_values_along_an_axis_are_those_while_the_others_stay(swept):
    _, move, axes = the_move(swept, "norm", "ROWS")
    batch, length = (axis.size for axis in axes)

    assert move.along["batch"] == tuple(-(-size * length // 132) for size in move.sizes["batch"])
    assert move.along["length"] == tuple(-(-size * batch // 132) for size in move.sizes["length"])


def test_part_that_never_moves_is_listed(swept):
    assert ("kernels:rows_kernel", "constexpr", "HEADS") in swept[2]["norm"].calls[0].unmoved


def test_tuning_key_follows_its_axis(swept):
    call = swept[2]["tuned"].calls[0]
    (move,) = (move for move in call.moves if move.part == "autotune key")
    (axis,) = (axis for axis in call.axes if axis.name in move.follows)

    assert (move.name, move.formula, places(axis)) == ("n", "columns", [("x", 1)])


def test_first_round_of_tuning_tries_all_configs_and_later_ones_two(swept, tmp_path):
    path = tmp_path / "tuned.jsonl"
    path.write_text("\n".join(swept[2]["tuned"].recording) + "\n", encoding="utf-8")
    (recording,) = read_file(path)
    first, *others = (len(tuning.timings_ms) for tuning in recording.tunings)

    assert (first, set(others)) == (4, {2})


def test_arguments_of_an_inner_function_follow_the_axes_of_its_caller(swept):
    inner = {
        (call.place.argument, call.place.axis): call.follows
        for call in swept[2]["norm"].calls[0].inner
        if call.entry == "kernels:launch_rows"
    }

    assert inner["n_rows", None] == ("batch", "length")
    assert inner["length", None] == ("length",)
    assert inner["y", 2] == ("dim",)


def test_recording_names_the_files_of_the_project(swept, tmp_path):
    folder, _, outcomes = swept
    path = tmp_path / "norm.jsonl"
    path.write_text("\n".join(outcomes["norm"].recording) + "\n", encoding="utf-8")
    (recording,) = read_file(path)

    assert {event.kernel.path for event in recording.compiles} == {str(folder / "kernels.py")}
    assert {event.launch_site.path for event in recording.compiles} == {str(folder / "kernels.py")}


def test_written_tests_pass_and_hold_the_formula(swept, tmp_path):
    folder, found, outcomes = swept
    chosen = [outcomes[name] for name in ("norm", "Scale")]
    (path,) = write_drivers(chosen, folder / "sweeps", found)
    text = path.read_text(encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "2 passed" in ran.stdout, ran.stdout
    assert 'assert formulas["rows_kernel", "BLOCK"] == "next_power_of_2(length)"' in text


def test_corrected_file_is_kept(swept, tmp_path):
    _, found, outcomes = swept
    (path,) = write_drivers([outcomes["norm"]], tmp_path, found)
    path.write_text("# corrected\n", encoding="utf-8")
    (beside,) = write_drivers([outcomes["norm"]], tmp_path, found)

    assert path.read_text(encoding="utf-8") == "# corrected\n"
    names = [
        node.name for node in ast.parse(beside.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
    ]
    assert names == ["drive_norm", "test_drive_norm"]

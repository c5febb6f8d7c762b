"""A sweep finds what moves, what it follows and how it grows, of real kernels, without a GPU."""

import importlib
import json
import sys
from pathlib import Path

import pytest

import triton_doctor
from triton_doctor.errors import DoctorError
from triton_doctor.runtime.dry.sweep.size_formulas import Growth

SPANS = {"batch": "1..8", "length": "1..4096"}


# One worker of pytest-xdist makes what this fixture makes.
pytestmark = pytest.mark.xdist_group("sweep")


@pytest.fixture(scope="module")
def operators():
    """The module of operators, imported when it is first needed."""
    return importlib.import_module("tests.runtime.dry.sweep.operators")


def moved(swept):
    return {
        (one.kernel.name, one.part.kind, one.part.name): (str(one.explanation.formula), one.explanation.growth.value)
        for one in swept.moved
    }


def test_each_part_that_moves_is_given_with_its_formula(operators):
    swept = triton_doctor.sweep(operators.normalize, SPANS | {"hidden": (64, 128, 768, 1000, 2048)}, fixed=["hidden"])

    assert moved(swept) == {
        ("scale_rows", "constexpr", "rows_per_program"): ("cdiv(batch*length, 132)", "unbounded"),
        ("scale_rows", "constexpr", "BLOCK"): ("min(next_power_of_2(hidden), 1024)", "bounded"),
        ("scale_rows", "integer", "n_rows"): ("batch*length", "bounded"),
    }
    assert [one.part.name for one in swept.moved if one.is_fixed] == ["BLOCK"]
    assert [kernel.per_model < kernel.variants for kernel in swept.kernels] == [True]


def test_values_over_all_sizes_are_counted_by_the_formula(operators):
    swept = triton_doctor.sweep(operators.normalize, SPANS)
    rows = swept.moved[0]

    assert (rows.part.name, rows.count) == ("rows_per_program", len({-(-n // 132) for n in range(1, 8 * 4096 + 1)}))
    assert len(rows.values) < rows.count


def test_tuning_key_and_what_no_config_decides_are_given(operators):
    swept = triton_doctor.sweep(operators.copy, {"length": "1..4096"})
    kernel = swept.kernels[0]

    assert moved(swept) == {
        ("copy_blocks", "autotune key", "T"): ("length", "unbounded"),
        ("copy_blocks", "constexpr", "WIDE"): ("length > 1000", "bounded"),
        ("copy_blocks", "integer", "T"): ("length", "bounded"),
    }
    assert kernel.rounds == len(swept.points)
    assert kernel.tried == 2 * kernel.rounds
    assert swept.launches == len(swept.points)


def test_wrapper_with_a_cache_of_its_own_hides_no_variant_and_no_launch_line(operators):
    for _ in range(2):
        swept = triton_doctor.sweep(operators.fill_zeros, SPANS)

        assert moved(swept)["fill", "constexpr", "BLOCK"] == ("next_power_of_2(length)", "log2")
        lines = Path(operators.__file__).read_text().splitlines()
        sites = swept.kernels[0].sites
        assert [(site.path, "# the launch" in lines[site.line - 1]) for site in sites] == [(operators.__file__, True)]


def test_condition_of_a_kernel_that_is_not_always_launched_is_given(operators):
    swept = triton_doctor.sweep(operators.keep_or_copy, {"length": "1..4096"})

    assert {one.name.name: str(one.condition) for one in swept.kernels} == {
        "scale_rows": "length <= 300",
        "copy_blocks": "length > 300",
    }
    assert ", where length > 300" in str(swept)


def test_values_are_counted_and_grow_where_the_kernel_is_launched(operators):
    swept = triton_doctor.sweep(operators.keep_or_copy, {"length": "1..4096"})
    rows, key = (next(one for one in swept.moved if one.part.name == name) for name in ("rows_per_program", "T"))

    assert (str(rows.explanation.formula), rows.explanation.growth, rows.count) == (
        "cdiv(length, 132)",
        Growth.BOUNDED,
        3,
    )
    assert (key.explanation.growth, key.count) == (Growth.UNBOUNDED, 4096 - 300)


def test_result_is_differentiated(operators):
    swept = triton_doctor.sweep(operators.double, {"batch": "1..64"})

    assert moved(swept)["scale_rows", "constexpr", "rows_per_program"] == ("batch", "unbounded")


def test_points_that_raise_are_told_and_do_not_end_the_sweep(operators):
    swept = triton_doctor.sweep(operators.refuse_odd, {"length": (2, 3, 4, 264, 1000)})

    assert [point for point, _ in swept.stopped] == [(3,)]
    assert "1 of 5 points raised, first at length=3: ValueError: 3 is odd" in str(swept)
    with pytest.raises(AssertionError, match="not checked everywhere"):
        swept.assert_bounded("scale_rows", at_most=100)


def test_backward_that_raises_hides_nothing_of_the_forward(operators):
    swept = triton_doctor.sweep(operators.refuse_backward, {"batch": "1..64"})

    assert moved(swept)["scale_rows", "constexpr", "rows_per_program"] == ("batch", "unbounded")
    assert {error for _, error in swept.stopped} == {"backward: RuntimeError: no backward here"}
    with pytest.raises(AssertionError, match="not checked everywhere"):
        swept.assert_bounded("scale_rows", at_most=100)


def test_function_that_always_raises_is_refused_in_a_line(operators):
    with pytest.raises(DoctorError, match=r"`fail` raised at the first 16 points: ValueError: never works"):
        triton_doctor.sweep(operators.fail, {"length": "1..64"})


@pytest.mark.parametrize(
    ("vary", "fixed", "message"),
    [
        ({}, (), "nothing to vary"),
        ({"length": "1...4"}, (), "cannot read the sizes"),
        ({"length": "9..4"}, (), "is empty"),
        ({"length": []}, (), "has no sizes"),
        ({"length": (-1, 2)}, (), "negative size"),
        ({"length": 4.5}, (), "has no sizes"),
        ({"length": "1..4"}, ("heads",), "`heads` is fixed, and no dimension"),
        ({"width": "1..4"}, (), "does not take width"),
    ],
)
def test_bad_input_is_refused_in_a_line(operators, vary, fixed, message):
    with pytest.raises(DoctorError, match=message):
        triton_doctor.sweep(operators.copy, vary, fixed=fixed)


def test_limit_fails_with_values_and_formula(operators):
    swept = triton_doctor.sweep(operators.normalize, {"length": "1..4096", "batch": 1})

    swept.assert_bounded("scale_*", at_most=100)
    with pytest.raises(AssertionError) as failed:
        swept.assert_bounded("scale_rows", at_most=30)

    assert "at most 30 allowed" in str(failed.value)
    assert "rows_per_program = cdiv(length, 132) unbounded" in str(failed.value)


def test_limit_counts_values_that_the_sweep_did_not_come_by(operators):
    swept = triton_doctor.sweep(operators.fill_zeros, {"batch": 1, "length": "1..4096"})
    seen = len(next(one for one in swept.moved if one.part.name == "BLOCK").values)
    rows = triton_doctor.sweep(operators.normalize, SPANS)

    assert seen == 13
    with pytest.raises(AssertionError, match="at least 249 over all sizes"):
        rows.assert_bounded("scale_rows", at_most=rows.kernels[0].variants)


def test_limit_is_of_one_model(operators):
    swept = triton_doctor.sweep(operators.interleave, {"batch": "1..16", "heads": (4, 7, 9, 33)}, fixed=["heads"])
    kernel = swept.kernels[0]

    assert (kernel.needs, kernel.variants > 16) == (16, True)
    swept.assert_bounded("scale_rows", at_most=16)


def test_limit_of_a_kernel_that_was_not_launched_fails(operators):
    swept = triton_doctor.sweep(operators.copy, {"length": (64, 128)})

    with pytest.raises(AssertionError, match="no kernel called 'rope'; it launched `copy_blocks`"):
        swept.assert_bounded("rope", at_most=8)


def test_search_finds_a_variant_that_few_sizes_need_and_gives_the_smallest(operators):
    pytest.importorskip("hypothesis")
    without = triton_doctor.sweep(operators.switch, {"length": "2000..2500"})
    swept = triton_doctor.sweep(operators.switch, {"length": "2000..2500"}, search=500)

    assert (without.moved, without.found) == ((), ())
    assert swept.found == ((2271,),)
    assert [one.values for one in swept.moved] == [(1, 99)]


def test_search_without_hypothesis_is_refused_in_a_line(operators, monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)

    with pytest.raises(DoctorError, match="a search needs hypothesis, which is not installed"):
        triton_doctor.sweep(operators.switch, {"length": "1..64"}, search=10)


def test_sweep_inside_a_dry_run_uses_it(operators):
    with triton_doctor.dry_run(target="cuda:80") as recording:
        swept = triton_doctor.sweep(operators.copy, {"length": (64, 128)})

    assert swept.recording.pretended["GPU"].startswith("NVIDIA A100")
    assert recording.headers[0].dry


def test_json_has_what_the_text_has(operators):
    swept = triton_doctor.sweep(operators.normalize, SPANS | {"hidden": (64, 128)}, fixed=["hidden"])

    described = json.loads(json.dumps(swept.to_json()))
    first = described["kernels"][0]["moved"][0]
    assert (first["part"], first["name"], first["formula"]) == (
        "constexpr",
        "rows_per_program",
        "cdiv(batch*length, 132)",
    )
    assert (first["growth"], first["per_model"], first["follows"]) == (Growth.UNBOUNDED, False, ["batch", "length"])
    assert [one["fixed"] for one in described["dimensions"]] == [False, False, True]

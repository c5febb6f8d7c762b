"""`explain` tells what decides a kernel's variants."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

SEED = Path(__file__).parents[2] / "fixtures" / "seeds" / "ragged_attention_mask.py"


def test_each_parameter_is_told_with_its_kind_its_use_and_its_way(doctor: Callable) -> None:
    outcome = doctor("explain", "ragged_mask_kernel", str(SEED), "--output-format", "json")

    (kernel,) = json.loads(outcome.out)["kernels"]
    told = {one["parameter"]: one for one in kernel["parameters"]}
    assert outcome.status == 0
    assert kernel["unbounded"] == ["stride_mask_qo", "bs", "max_kv_len_per_req"]
    assert kernel["variants"] is None
    assert told["bs"]["variability"] == "per_call"
    assert told["bs"]["use"] == "read"
    assert told["bs"]["trail"][-1]["text"] == "`bs` is a constexpr of `ragged_mask_kernel`"
    assert told["BLOCK"] | {"trail": []} == {
        "parameter": "BLOCK",
        "role": "constexpr",
        "variability": "fixed",
        "bound": 1,
        "use": "compile_time",
        "in_autotune_key": False,
        "given": "128",
        "variants": 1,
        "trail": [],
    }


def test_text_sums_up(doctor: Callable) -> None:
    outcome = doctor("explain", "ragged_mask*", str(SEED))

    assert outcome.status == 0
    assert "one for each value of stride_mask_qo, bs, max_kv_len_per_req" in outcome.out


@pytest.mark.parametrize(
    ("name", "hint"),
    [("ragged_mask_kernle", "did you mean `ragged_mask_kernel`?"), ("zzz", "1 kernels were read")],
)
def test_unknown_kernel_is_told_with_what_there_is(doctor: Callable, name: str, hint: str) -> None:
    outcome = doctor("explain", name, str(SEED))

    assert outcome.status == 2
    assert hint in outcome.err

"""Two runs beside each other: what is new, gone and changed, and nothing that only a machine or a Triton makes differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

from triton_doctor.report.comparison import CompareForm, render_comparison
from triton_doctor.report.comparison.compare import compare_runs, compare_variants
from triton_doctor.report.comparison.text import describe_key, describe_values
from triton_doctor.runtime.event import CompileEvent, CompileKey, KernelName
from triton_doctor.runtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]

FIXTURES = Path(__file__).parents[2] / "fixtures"
BEFORE, AFTER = (FIXTURES / "runs" / f"seed_ragged_attention_mask{end}.jsonl" for end in ("", "_fixed"))
KERNEL = KernelName(name="k", module="m", path="m.py", line=1)


def compiled(
    *,
    constants: dict[str, int] | None = None,
    arguments: dict[str, tuple[str, str]] | None = None,
    options: dict[str, int | None] | None = None,
    target: str = "cuda:90",
    source: str = "",
) -> CompileEvent:
    arguments, constants = arguments or {}, constants or {}
    key = CompileKey(
        signature=(*((name, kind) for name, (kind, _) in arguments.items()), *((n, "constexpr") for n in constants)),
        constants=tuple(constants.items()),
        attributes=tuple((name, class_) for name, (_, class_) in arguments.items() if class_),
        options=tuple((options or {"num_warps": 4}).items()),
        target=target,
    )
    return CompileEvent(
        kernel=KERNEL,
        key=key,
        tier="compiled",
        stages_us=(),
        launch_site=None,
        device=0,
        thread=1,
        rank=None,
        at_ns=1,
        source=source,
    )


def told(before: list[CompileEvent], after: list[CompileEvent]) -> dict[str, list[str]]:
    changes = compare_variants(before, after)
    return {
        "new": [describe_key(key) for key in changes.new],
        "gone": [describe_key(key) for key in changes.gone],
        "changed": [f"{describe_key(was)} -> {describe_key(now)}" for was, now in changes.changed],
        "parameters": [f"{one.name}: {one.before} -> {one.after}" for one in changes.parameters],
    }


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(
            [compiled(constants={"n": 1}), compiled(constants={"n": 2})],
            [compiled(constants={"n": 2}), compiled(constants={"n": 3})],
            {"new": ["`n` 3"], "gone": ["`n` 1"]},
            id="a value of a constexpr",
        ),
        pytest.param(
            [compiled(arguments={"n": ("i32", "")})],
            [compiled(arguments={"n": ("i32", "")}), compiled(arguments={"n": ("i32", "=1")})],
            {"new": ["`n` 1"]},
            id="a class of an integer",
        ),
        pytest.param(
            [compiled(constants={"n": value}) for value in (17, 18, 19)],
            [compiled(arguments={"n": ("i32", "")})],
            {"parameters": ["n: constexpr -> argument"]},
            id="a constexpr that became an argument leaves no variant new",
        ),
        pytest.param(
            [compiled(constants={"n": 1})],
            [compiled(constants={"n": 1, "m": 1}), compiled(constants={"n": 2, "m": 1})],
            {"new": ["`n` 2"], "parameters": ["m: None -> constexpr"]},
            id="a parameter more, and a variant more",
        ),
        pytest.param(
            [compiled(constants={"n": 1}, options={"num_warps": 4})],
            [compiled(constants={"n": 1}, options={"num_warps": 8})],
            {"changed": ["`num_warps` 4 -> `num_warps` 8"]},
            id="another option",
        ),
        pytest.param(
            [compiled(constants={"n": 1}, options={"num_warps": 4})],
            [compiled(constants={"n": 1}, options={"num_warps": 4, "maxnreg": None}, target="cuda:80", source="x")],
            {},
            id="another Triton, GPU and source",
        ),
        pytest.param(
            [compiled(arguments={"x": ("*fp32", "%16")})],
            [compiled(arguments={"x": ("*fp32", "%16")}), compiled(arguments={"x": ("*bf16", "")})],
            {"new": ["`x` *bf16, not aligned"]},
            id="a type and an alignment",
        ),
    ],
)
def test_variants_are_known_by_what_launches_pass(
    before: list[CompileEvent], after: list[CompileEvent], expected: dict[str, list[str]]
) -> None:
    assert told(before, after) == {"new": [], "gone": [], "changed": [], "parameters": []} | expected


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["17", "19", "18"], "17 to 19"),
        (["16", "128", "32"], "16, 32 and 128"),
        ([str(2 * value) for value in range(40)], "40 values from 0 to 78"),
        (["'a'", "'b'"], "'a' and 'b'"),
        (["True"], "True"),
    ],
)
def test_values_are_told_in_few_words(values: list[str], shown: str) -> None:
    assert describe_values(values) == shown


def test_markdown_of_a_fix_names_exactly_what_changed() -> None:
    comparison = compare_runs(Recording.read_each(BEFORE), Recording.read_each(AFTER))

    assert render_comparison(comparison, CompareForm.MARKDOWN) == snapshot("""\
## triton-doctor: what compiles

**40 variants before, 1 after: 1 gone, 3 parameters of another kind**

|  | before | after | moved |
| --- | ---: | ---: | ---: |
| wall time | 6.64 s | 5.27 s | -1.37 s |
| waited for Triton, all kernels | 1.61 s | 0.043 s | -1.57 s |
| compiled | 40 | 1 | -39 |
| from disk | 0 | 0 |  |
| rounds of tuning | 0 | 0 |  |

### kernels, most time moved first

- `ragged_mask_kernel`: 40 variants before, 1 after; 1.61 s before, 0.043 s after
  - `stride_mask_qo` is an argument now, was a constexpr
  - `bs` is an argument now, was a constexpr
  - `max_kv_len_per_req` is an argument now, was a constexpr
  - gone: `stride_mask_bs` multiple of 16
  - TRD702 constexpr-changed `stride_mask_qo`: 39x before, 0x after
  - TRD702 constexpr-changed `max_kv_len_per_req`: 39x before, 0x after
  - TRD702 constexpr-changed `bs`: 29x before, 0x after

### causes, most time moved first

| cause | compiles before | after | time before | after | moved |
| --- | ---: | ---: | ---: | ---: | ---: |
| TRD702 constexpr-changed | 39 | 0 | 1.57 s | 0.000 s | -1.57 s |
""")
    assert comparison.new_variants == 0


def test_a_kernel_that_moved_to_another_file_is_the_same_kernel(folder: Path) -> None:
    path = folder / "moved.jsonl"
    text = AFTER.read_text(encoding="utf-8")
    path.write_text(text.replace('"module":"__main__"', '"module":"other"').replace(".py", "_moved.py"), "utf-8")
    comparison = compare_runs(Recording.read_each(AFTER), Recording.read_each(path))

    (kernel,) = comparison.kernels
    assert (kernel.is_new, kernel.is_gone, kernel.is_same, kernel.kernel.module) == (False, False, True, "other")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        pytest.param((BEFORE, AFTER, "--fail-on-new"), 0, id="fewer variants"),
        pytest.param((AFTER, FIXTURES / "recordings" / "vector_add.jsonl", "--fail-on-new"), 1, id="a new kernel"),
        pytest.param((AFTER, FIXTURES / "recordings" / "vector_add.jsonl"), 0, id="not asked to fail"),
        pytest.param((AFTER, Path("missing.jsonl")), 2, id="no recording"),
    ],
)
def test_fail_on_new_fails_for_new_variants_alone(doctor: Doctor, arguments: tuple[object, ...], status: int) -> None:
    assert doctor("compare", *map(str, arguments)).status == status


def test_a_recording_that_may_miss_variants_does_not_pass(doctor: Doctor, folder: Path) -> None:
    warning = {"event": "warning", "kind": "unseen", "message": "python -I kept triton-doctor out", "at_ns": 1}
    text = AFTER.read_text(encoding="utf-8").rstrip("\n")
    path = folder / "after.jsonl"
    path.write_text(f"{text}\n{json.dumps(warning)}\n", encoding="utf-8")

    outcome = doctor("compare", str(AFTER), str(path), "--fail-on-new")
    assert outcome.status == 2
    assert "may miss some: python -I kept triton-doctor out" in outcome.err


def test_json_has_counts_before_and_after(doctor: Doctor) -> None:
    seen = json.loads(doctor("compare", str(BEFORE), str(AFTER), "--output-format", "json").out)

    (kernel,) = seen["kernels"]
    assert (kernel["status"], kernel["variants"], kernel["new"]) == ("changed", {"before": 40, "after": 1}, [])
    assert kernel["parameters"][1] == {"name": "bs", "before": "constexpr", "after": "argument"}
    assert seen["causes"][0]["count"] == {"before": 39, "after": 0}

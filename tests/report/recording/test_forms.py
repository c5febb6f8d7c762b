"""The report of a recording in its forms: what was seen on a GPU, told without one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.evidence.recorded import compile_event
from tests.evidence.recorded import process as process_of
from triton_doctor.report.recording import RunForm, render_account
from triton_doctor.report.recording.choice import choose, sort_kernels
from triton_doctor.runtime.account import Account, account
from triton_doctor.runtime.event import LaunchesEvent
from triton_doctor.runtime.recording import Recording

RECORDINGS = Path(__file__).parents[3] / "fixtures" / "recordings"


def account_of(*names: str, kernel: str = "*") -> Account:
    return account(
        choose(Recording.read_each([RECORDINGS / f"{name}.jsonl" for name in names]), kernel=kernel, since=None)
    )


def show(whole: Account, form: RunForm) -> str:
    return render_account(whole, form, recordings=(), cwd=Path("/"), color=False)


def test_text_names_the_parameter_its_values_its_price_and_the_rule() -> None:
    assert show(account_of("liger_layer_norm", kernel="*backward*"), RunForm.TEXT) == snapshot("""\

triton-doctor: 1 kernel: 12 launches, 10 compiled, 0 from disk; 8.59 s in all
triton 3.6.0, torch 2.11.0+cu130, python 3.12.3

where the time went
  compiling        0.66 s   8%
  everything else  7.94 s  92%

kernels
  kernel                       launches  in memory  compiled  compile ms
  _layer_norm_backward_kernel        12          2        10         656
      8x TRD702 constexpr-changed: `rows_per_program`, 8 values: 1, 2, 3, 7, 4, 12, ...
      1x TRD703 integer-class-changed: `n_rows`, 2 values: 1, 14
      launched at liger_kernel/ops/layer_norm.py:290 in layer_norm_backward: 10 compiled, 0.66 s

what to change first, by seconds saved
  0.46 s  `_layer_norm_backward_kernel` (liger_kernel/ops/layer_norm.py:90), without `rows_per_program` in its key, 3 of 10 variants would remain: pass `rows_per_program` without tl.constexpr, unless the kernel needs the value while it compiles
          TRD702 constexpr-changed; look for: TRD201 constexpr-varies-per-call, TRD202 constexpr-never-read, TRD206 block-from-runtime-size
  0.13 s  `_layer_norm_backward_kernel` (liger_kernel/ops/layer_norm.py:90), without `n_rows` in its key, 1 of 3 variants would remain: put `n_rows` into do_not_specialize, where the kernel gains nothing from 1 and multiples of 16
          TRD703 integer-class-changed; look for: TRD208 integer-specialization
""")


def test_markdown_has_the_same() -> None:
    assert show(account_of("ragged_mask_constexpr"), RunForm.MARKDOWN) == snapshot("""\
# triton-doctor

## where the time went

| process | compiling | first of a process | everything else | in all |
| --- | ---: | ---: | ---: | ---: |
| process 409 | 1.34 s | 0.49 s | 1.26 s | 3.09 s |

## kernels

| kernel | where | launches | in memory | compiled | ms compiling |
| --- | ---: | ---: | ---: | ---: | ---: |
| `constexpr_mask` | tests/runtime/programs/ragged_mask.py:24 | 40 | 0 | 40 | 1,341 |

## causes

- `constexpr_mask`: 39x TRD702 constexpr-changed: `stride_mask_qo`, 40 values: 17, 18, 19, 20, 21, 22, ...
- `constexpr_mask`: 39x TRD702 constexpr-changed: `max_kv_len_per_req`, 40 values: 17, 18, 19, 20, 21, 22, ...

## what to change first, by seconds saved

- 1.30 s: `constexpr_mask` (tests/runtime/programs/ragged_mask.py:24), without `stride_mask_qo` and `max_kv_len_per_req` in its key, 1 of 40 variants would remain: pass `stride_mask_qo` and `max_kv_len_per_req` without tl.constexpr, unless the kernel needs the value while it compiles (TRD702 constexpr-changed; look for: TRD201 constexpr-varies-per-call, TRD202 constexpr-never-read, TRD206 block-from-runtime-size)
""")


def test_each_launch_is_in_one_tier() -> None:
    seen = json.loads(show(account_of("vector_add"), RunForm.JSON))
    (kernel,) = seen["kernels"]

    assert (kernel["compiled"], kernel["from_disk"], kernel["in_memory"], kernel["launches"]) == (9, 4, 5, 18)
    assert {name: seen["totals"][name] for name in ("launches", "compiled")} == {"launches": 18, "compiled": 9}
    assert sum(cause["count"] for cause in kernel["causes"]) == 13


def test_parts_add_up() -> None:
    for path in RECORDINGS.glob("*.jsonl"):
        for process in account([Recording.read(path)]).processes:
            split = process.split
            parts = (
                split.first_process_us
                + split.compile_us
                + split.load_us
                + split.autotune_us
                + split.interpret_us
                + split.other_us
            )
            assert parts == split.wall_us


def test_each_process_has_its_own_first_compile() -> None:
    whole = account_of("ragged_mask_constexpr", "ragged_mask_constexpr_second_process")
    (kernel,) = whole.kernels

    assert (kernel.compiled, kernel.from_disk, len(whole.processes)) == (40, 40, 2)
    assert [(cause.code, cause.count) for cause in kernel.causes] == [("TRD702", 78), ("TRD702", 78), ("TRD701", 2)]


@pytest.mark.parametrize(
    ("name", "settled"),
    [
        pytest.param("ragged_mask_constexpr", False, id="compiles until its end"),
        pytest.param("ragged_mask_unspecialized", True, id="compiles once and launches 40 times"),
    ],
)
def test_look_elsewhere_is_said_where_compiling_was_over(name: str, settled: bool) -> None:
    text = show(account_of(name), RunForm.TEXT)

    assert ("look elsewhere" in text) is settled


def test_look_elsewhere_asks_what_share_compiling_had() -> None:
    whole = account_of("ragged_mask_unspecialized")
    (process,) = whole.processes
    slow = replace(process, split=replace(process.split, compile_us=process.split.wall_us // 2))

    assert "look elsewhere" not in show(replace(whole, processes=(slow,)), RunForm.TEXT)


@pytest.mark.parametrize(("launches", "settled"), [(5_000, True), (150, False)])
def test_a_second_variant_is_forgiven_after_100_launches_of_each(launches: int, settled: bool) -> None:
    (one,) = Recording.read_each([RECORDINGS / "ragged_mask_plain.jsonl"])
    first, second = one.compiles
    begun_ns = one.headers[0].started_at_ns
    counted = LaunchesEvent(launches=((first.kernel, launches),), at_ns=begun_ns + 20 * 10**9)
    events = [replace(first, at_ns=begun_ns + 10**9), replace(second, at_ns=begun_ns + 15 * 10**9), counted]
    again = Recording(headers=one.headers, events=events)

    assert ("look elsewhere" in show(account([again]), RunForm.TEXT)) is settled


@pytest.mark.parametrize("form", [RunForm.TEXT, RunForm.MARKDOWN, RunForm.HTML])
def test_compile_in_the_capture_of_a_graph_is_told_at_the_top(form: RunForm) -> None:
    (one,) = Recording.read_each([RECORDINGS / "ragged_mask_plain.jsonl"])
    captured = Recording(headers=one.headers, events=[replace(one.compiles[0], capturing=True)])

    text = show(account([captured]), form)

    assert text.index("in the capture of a CUDA graph") < text.index("where the time went")


def test_kernels_are_sorted_by_time_and_then_by_variants() -> None:
    kernels = sort_kernels(account_of("liger_layer_norm", "liger_rope", "vector_add")).kernels
    values = [(-kernel.waited_us, -kernel.compiled) for kernel in kernels]

    assert len(values) == 4
    assert values == sorted(values)


@pytest.mark.parametrize(
    ("us", "longest"),
    [
        pytest.param(
            12_000_000,
            {"stages_ms": {"ttir": 1000.0, "cubin": 12_000.0}, "sizes": {"ttir": 9000, "cubin": 80_000}},
            id="12 s",
        ),
        pytest.param(50_000, None, id="50 ms"),
    ],
)
def test_long_compile_has_its_stages_and_the_size_of_their_ir(us: int, longest: object) -> None:
    stages = (("ttir", 1_000_000 if longest else 1000), ("cubin", us))
    event = compile_event(3, stages_us=stages, sizes=(("ttir", 9000), ("cubin", 80_000)))

    told = json.loads(show(account([process_of([event], launches=1)]), RunForm.JSON))

    assert told["kernels"][0]["longest_compile"] == longest

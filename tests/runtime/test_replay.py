"""What was seen on a real GPU, replayed: the counts, and each parameter that varied named as the cause."""

import pytest

from tests.runtime.tritons import REPOSITORY
from triton_doctor import Recording
from triton_doctor.runtime.cause_wording import describe_recompile

RECORDINGS = REPOSITORY / "fixtures" / "recordings"
ROWS_PER_PROGRAM = {1, 2, 3, 4, 7, 12, 16, 24}


def replay(name):
    return Recording.read(RECORDINGS / f"{name}.jsonl")


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("vector_add", (9, 4, 5)),
        ("ragged_mask_constexpr", (40, 0, 0)),
        ("ragged_mask_constexpr_second_process", (0, 40, 0)),
        ("ragged_mask_plain", (2, 0, 38)),
        ("ragged_mask_unspecialized", (1, 0, 39)),
    ],
)
def test_gpu_counts_what_the_compile_only_target_counts(name, counts):
    recording = replay(name)

    assert (len(recording.compiled), len(recording.loaded), recording.in_memory) == counts
    assert recording.warnings == ()
    assert not recording.headers[0].compile_only


@pytest.mark.parametrize(
    ("name", "kernel", "parameter", "values"),
    [
        ("liger_layer_norm", "_layer_norm_backward_kernel", "rows_per_program", ROWS_PER_PROGRAM),
        ("liger_fused_add_rms_norm", "_fused_add_rms_norm_backward_kernel", "rows_per_program", ROWS_PER_PROGRAM),
        ("liger_poly_norm", "_poly_norm_backward_kernel", "rows_per_program", ROWS_PER_PROGRAM),
        ("liger_rope", "_triton_rope", "bs", {1, 2, 3, 4, 5, 6, 8}),
        (
            "liger_group_norm",
            "_group_norm_backward_kernel",
            "hidden_size",
            {1, 7, 17, 33, 48, 64, 100, 128, 256, 513, 777, 1024},
        ),
    ],
)
def test_parameter_that_varies_per_call_is_named_with_its_values(name, kernel, parameter, values):
    changes = [change for cause in replay(name).of(kernel).causes for change in cause.changes]
    told = [change for change in changes if change.name == parameter]

    assert {change.code for change in told} == {"TRD702"}
    assert {value for change in told for value in (change.before, change.after)} == values


def test_mask_is_told_by_both_parameters_that_vary():
    last = replay("ragged_mask_constexpr").causes[-1]

    assert describe_recompile(last) == (
        "`stride_mask_qo` is 56, was 55: 40 values so far: 17, 18, 19, 20, 21, 22, 23, 24, ...; "
        "`max_kv_len_per_req` is 56, was 55: 40 values so far: 17, 18, 19, 20, 21, 22, 23, 24, ..."
    )


def test_loading_from_disk_costs_a_fraction_of_compiling():
    compiled = replay("ragged_mask_constexpr").compiled
    loaded = replay("ragged_mask_constexpr_second_process").loaded

    assert sum(event.duration_us for event in loaded) * 10 < sum(event.duration_us for event in compiled)
    assert [event.process_us > 0 for event in compiled] == [True] + [False] * 39


@pytest.mark.parametrize(
    ("kernel", "before", "after"),
    [
        ("_triton_rope", 18, 6),
        ("_layer_norm_backward_kernel", 10, 3),
        ("_fused_add_rms_norm_backward_kernel", 10, 3),
        ("_poly_norm_backward_kernel", 10, 3),
        ("_layer_norm_forward_kernel", 1, 1),
    ],
)
def test_fixed_library_compiles_less(kernel, before, after):
    counts = [len(replay(f"fixed/liger_{name}").of(kernel).compiled) for name in ("original", "fixed")]

    assert counts == [before, after]

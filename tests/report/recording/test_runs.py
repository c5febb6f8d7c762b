"""What is reported of programs that ran on a GPU under `run`: the founding cases, a training, torch.compile, ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_doctor.evidence import advise
from triton_doctor.report.recording import RunForm, render_account
from triton_doctor.runtime.account import Account, account
from triton_doctor.runtime.recording import Recording

RUNS = Path(__file__).parents[3] / "fixtures" / "runs"


def account_of(name: str) -> Account:
    return account(Recording.read_each(RUNS / f"{name}.jsonl"))


def told(name: str) -> str:
    return render_account(account_of(name), RunForm.TEXT, recordings=(), cwd=Path("/"), color=False)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [("seed_cross_entropy_interpreted", "cross_entropy_kernel"), ("seed_vector_add_interpreted", "add_kernel")],
)
def test_interpreter_mode_is_said_before_anything_else(name: str, kernel: str) -> None:
    lines = told(name).splitlines()

    assert lines[1].startswith("triton-doctor: no kernel compiled")
    assert lines[4].startswith(f"interpreter mode: `{kernel}` ran in Triton's interpreter")
    assert "unset TRITON_INTERPRET" in lines[5]


def test_mask_is_told_by_its_parameters_and_the_40_compiles() -> None:
    (kernel,) = account_of("seed_ragged_attention_mask").kernels
    text = told("seed_ragged_attention_mask")

    assert (kernel.launches, kernel.compiled, kernel.in_memory) == (80, 40, 40)
    assert "39x TRD702 constexpr-changed: `max_kv_len_per_req`, 40 values: 900, 907, 914, 921, 928, 935, ..." in text
    assert "TRD201 constexpr-varies-per-call" in text
    assert "look elsewhere" not in text


@pytest.mark.parametrize("name", ["phi3_finetuning", "ragged_attention_mask_fixed", "vector_add_misspelt"])
def test_what_compiles_once_is_told_to_look_elsewhere(name: str) -> None:
    assert "s: look elsewhere" in told(f"seed_{name}")
    assert advise(account_of(f"seed_{name}")) == ()


def test_misspelt_variable_is_told() -> None:
    assert "no triton reads TRITON_INTERPT: did you mean TRITON_INTERPRET?" in told("seed_vector_add_misspelt")


def test_training_is_told_what_would_save_most() -> None:
    first = advise(account_of("liger_training"))[0]

    assert first.kernel is not None
    assert first.kernel.name == "_layer_norm_backward_kernel"
    assert first.remedy.startswith("pass `rows_per_program` without tl.constexpr")
    assert 4_000_000 < first.saved_us < 5_000_000


@pytest.mark.parametrize("path", sorted(RUNS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_parts_add_up_to_the_wall_time_of_the_program(path: Path) -> None:
    whole = account(Recording.read_each(path))

    assert whole.program is not None
    for process in whole.processes:
        split = process.split
        parts = split.first_process_us + split.compile_us + split.load_us + split.autotune_us + split.interpret_us
        parts += split.launcher_us + split.module_us + split.failed_us
        assert parts + split.other_us == split.wall_us <= whole.program.wall_us
    if len(whole.processes) == 1:
        assert whole.processes[0].split.wall_us == whole.program.wall_us


def test_kernels_of_torch_compile_are_counted_and_no_advice_is_given_on_them() -> None:
    whole = account_of("compiled_model")
    text = told("compiled_model")

    assert sum(kernel.compiled for kernel in whole.kernels if kernel.direct) == 9
    assert [kernel.launches for kernel in whole.kernels if not kernel.direct] == [1]
    assert "launches of 7 kernels that torch.compile made" in text
    assert "XBLOCK" not in text


def test_ranks_stand_side_by_side_and_where_they_differ() -> None:
    text = told("two_ranks")

    assert "rank 0 (process" in text
    assert "rank 1 (process" in text
    assert "rank 1 compiled 3 variants of `fill_kernel` that no other rank did: `length` 18 to 20" in text

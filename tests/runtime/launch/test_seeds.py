"""The founding cases under `run`, on the compile-only target: what a user is told first, and what to change."""

import json

import pytest

from tests.runtime.tritons import PROGRAMS, REPOSITORY

SEEDS = REPOSITORY / "fixtures" / "seeds"


@pytest.fixture
def run_seed(runner, doctor):
    def run(name):
        program = (str(PROGRAMS / "seed.py"), str(SEEDS / f"{name}.py"))
        done = runner()("-m", "triton_doctor", "run", "--target", "cuda:90", "-o", "run.jsonl", *program)
        seen = doctor("report", "run.jsonl", "--output-format", "json")
        return done.stderr[done.stderr.index("triton-doctor: ") :].splitlines(), json.loads(seen.out)

    return run


@pytest.mark.parametrize(
    ("name", "kernel"),
    [("cross_entropy_interpreted", "cross_entropy_kernel"), ("vector_add_interpreted", "add_kernel")],
)
def test_interpreter_mode_is_said_first_and_takes_its_share(run_seed, name, kernel):
    said, seen = run_seed(name)

    assert said[2].startswith(f"interpreter mode: `{kernel}` (")
    assert "unset TRITON_INTERPRET" in said[3]
    assert seen["totals"]["compiled"] == 0
    assert seen["processes"][0]["interpreting_ms"] > 0


@pytest.mark.long
def test_mask_is_told_its_parameters_their_values_and_the_40_compiles(run_seed):
    said, seen = run_seed("ragged_attention_mask")

    (kernel,) = seen["kernels"]
    assert (kernel["compiled"], kernel["in_memory"]) == (40, 40)
    values = {cause["parameter"]: cause["values"] for cause in kernel["causes"] if cause["code"] == "TRD702"}
    assert values["max_kv_len_per_req"] == [900 + 7 * step for step in range(40)]
    assert not any("look elsewhere" in line for line in said)
    assert "TRD201" in seen["advice"][0]["rules"]
    assert "`max_kv_len_per_req`" in seen["advice"][0]["remedy"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["phi3_finetuning", "ragged_attention_mask_fixed", "vector_add_misspelt"])
def test_what_compiles_once_is_told_to_look_elsewhere(run_seed, name):
    said, seen = run_seed(name)

    assert any(line.startswith("nothing compiled after ") and line.endswith(": look elsewhere") for line in said)
    assert all(kernel["compiled"] == 1 for kernel in seen["kernels"])
    # Where compiling is slow, keeping the cache is worth saying.
    assert {code for advice in seen["advice"] for code in advice["codes"]} <= {"TRD701"}
    misspelt = "no triton reads TRITON_INTERPT: did you mean TRITON_INTERPRET?"
    assert any(line.startswith(misspelt) for line in said) is (name == "vector_add_misspelt")

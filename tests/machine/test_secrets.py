"""`env` shows no secret: by the name of its variable, and by its shape, in whatever variable it was put."""

from __future__ import annotations

import pytest

from triton_doctor.machine.probe import choose_variables
from triton_doctor.masking import mask
from triton_doctor.variables import variables


@pytest.mark.parametrize(
    "name",
    [
        "TRITON_FOO_KEY",
        "TRITON_API_KEY",
        "TORCH_HUB_TOKEN",
        "CUDA_PASS",
        "TRITON_DB_PASSWORD",
        "PYTORCH_AUTH",
        "HIP_PWD",
        "TRITON_AWS_SECRET_ACCESS_KEY",
    ],
)
def test_variable_that_is_called_a_secret_is_masked(name: str) -> None:
    assert choose_variables({name: "abc"}) == {name: "***"}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("ghp_abcd1234", "***", id="GitHub"),
        pytest.param("x,github_pat_11ABC_def", "x,***", id="GitHub, fine-grained"),
        pytest.param("sk-proj-abcd1234", "***", id="OpenAI"),
        pytest.param("hf_abcdefghijklmnop", "***", id="Hugging Face"),
        pytest.param("AKIAABCDEFGH", "***", id="AWS"),
        pytest.param("Bearer abc.def", "Bearer ***", id="bearer"),
        pytest.param("Authorization: bearer abc", "Authorization: *** ***", id="header"),
        pytest.param("/x?token=abc&y=1", "/x?token=***&y=1", id="query"),
        pytest.param("https://h/x?X-Amz-Signature=12ab", "https://h/x?X-Amz-Signature=***", id="signed URL"),
        pytest.param("--api-key=abc --n=1", "--api-key=*** --n=1", id="option"),
        pytest.param("password: hunter2", "password: ***", id="pair"),
        pytest.param("https://user:p@ss@host/x", "https://***@host/x", id="URL with a password"),
        pytest.param("https://abcdef@host/x", "https://***@host/x", id="URL with a token"),
        pytest.param("eyJhbGciOiJI.eyJzdWIi.abc", "***", id="JSON web token"),
        pytest.param("-----BEGIN RSA PRIVATE KEY-----\nabc", "-----BEGIN RSA PRIVATE KEY-----***", id="key"),
    ],
)
def test_secret_in_any_variable_is_masked_by_its_shape(value: str, shown: str) -> None:
    for name in ("TRITON_DEBUG", "TORCH_LOGS", "TRITON_OVERRIDE_DIR", "TRITON_PTXAS_PATH"):
        assert choose_variables({name: value}) == {name: shown}


@pytest.mark.parametrize(
    "value",
    [
        "1",
        "/data/hf_cache/triton",
        "/home/me/risk-analysis/task-scheduler",
        "+dynamo,inductor",
        "/opt/token:/usr/bin",
        "expandable_segments:True,max_split_size_mb:128",
        "https://host/x?key=1",
        "sm_90a",
    ],
)
def test_ordinary_values_are_shown(value: str) -> None:
    assert mask(value) == value


def test_no_variable_of_triton_is_masked_by_its_name() -> None:
    shown = choose_variables(dict.fromkeys(variables(), "1"))

    assert set(shown.values()) == {"1"}

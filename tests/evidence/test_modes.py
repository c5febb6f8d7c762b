"""What runs say of interpreter mode: confirmed where the file's kernels ran in it, cleared where they compiled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

ROOT = Path(__file__).parent.parent.parent
RUNS = ROOT / "fixtures" / "runs"
SEED = (ROOT / "fixtures" / "seeds" / "vector_add_interpreted.py").read_text(encoding="utf-8")


def verdicts(outcome: Outcome) -> dict[str, str]:
    found = json.loads(outcome.out)["findings"]
    return {f"{one['code']} {one['severity']}": one["evidence"]["verdict"] for one in found if one["evidence"]}


@pytest.mark.parametrize(
    ("path", "run", "expected"),
    [
        pytest.param(
            "fixtures/seeds/vector_add_interpreted.py",
            "seed_vector_add_interpreted",
            {"TRD101 error": "confirmed", "TRD403 error": "confirmed"},
            id="its kernel was interpreted",
        ),
        pytest.param(
            "fixtures/seeds/vector_add_misspelt.py",
            "seed_vector_add_misspelt",
            {"TRD101 info": "cleared", "TRD403 info": "cleared"},
            id="its kernel compiled",
        ),
        pytest.param(
            "other/vector_add.py",
            "seed_vector_add_interpreted",
            {"TRD101 warning": "not_exercised", "TRD403 warning": "not_exercised"},
            id="another file",
        ),
    ],
)
def test_mode_is_that_in_which_the_file_was_seen_to_run(
    doctor: Callable[..., Outcome], write: Callable[..., Path], path: str, run: str, expected: dict[str, str]
) -> None:
    write(path, SEED)

    outcome = doctor("check", path, "--recording", str(RUNS / f"{run}.jsonl"), "--output-format", "json")

    assert verdicts(outcome) == expected

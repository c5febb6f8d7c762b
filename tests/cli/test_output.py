"""`-o FILE`: the suffix of the file chooses the form of what is written there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
BEFORE, AFTER = (str(RECORDINGS / f"ragged_mask_{name}.jsonl") for name in ("constexpr", "plain"))


@pytest.mark.parametrize(
    ("command", "file", "begin"),
    [
        pytest.param(["check"], "found.sarif", '{"$schema"', id="check as SARIF"),
        pytest.param(["check"], "found.json", '{"schema"', id="check as JSON"),
        pytest.param(["check", "--output-format", "json"], "found.txt", "{", id="the option wins"),
        pytest.param(["report", BEFORE], "run.html", "<!doctypehtml>", id="report as a page"),
        pytest.param(["report", BEFORE], "run.md", "#triton-doctor", id="report as Markdown"),
        pytest.param(
            ["report", BEFORE], "run.trace.json", '{"schemaVersion":1,"displayTimeUnit"', id="report as a trace"
        ),
        pytest.param(["report", BEFORE], "run.log", "triton-doctor:", id="another suffix is text"),
        pytest.param(["compare", BEFORE, AFTER], "change.md", "#", id="comparison as Markdown"),
        pytest.param(["env"], "machine.json", "{", id="machine as JSON"),
    ],
)
def test_report_is_written_in_the_form_of_its_suffix(
    doctor: Callable[..., Outcome], folder: Path, command: list[str], file: str, begin: str
) -> None:
    outcome = doctor(*command, "-o", file)

    assert (outcome.status in (0, 1), outcome.out) == (True, "")
    text = (folder / file).read_text(encoding="utf-8")
    assert "".join(text.split()).startswith(begin)


def test_form_that_a_report_does_not_have_is_refused(doctor: Callable[..., Outcome], folder: Path) -> None:
    outcome = doctor("check", "-o", "found.html")

    assert (outcome.status, list(folder.iterdir())) == (2, [])
    assert outcome.err == (
        "triton-doctor: -o found.html: this report has no form html\nhint: use .txt, .json, .sarif\n"
    )

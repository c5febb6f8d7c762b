"""Tuning that the next process makes again is told with its seconds, and why; the page's examples are run."""

import re

import pytest

from tests.rule_pages import example_and_fixed
from tests.runtime.prewarm.conftest import REPOSITORY, Workshop

PAGE = (REPOSITORY / "rules" / "TRD717-tuning-not-kept.md").read_text()
EXAMPLE, FIXED = example_and_fixed(PAGE)


@pytest.mark.parametrize(
    ("program", "told"),
    [
        pytest.param(EXAMPLE, "at each start: it has no `cache_results=True`", id="example"),
        pytest.param(FIXED, "", id="fixed"),
        pytest.param(
            FIXED.replace('{"BLOCK": 256}', '{"BLOCK": 256}, pre_hook=print'),
            "at each start: a `pre_hook` of a config voids `cache_results`",
            id="hooked",
        ),
    ],
)
def test_tuning_that_is_not_kept_is_told_with_the_reason(workshop: Workshop, program: str, told: str) -> None:
    script = workshop.folder / "tuned.py"
    script.write_text(program)
    workshop.record("run.jsonl", script, cache="cache")
    report = " ".join(workshop.doctor("report", "run.jsonl").split())  # where lines break depends on the seconds

    assert ("TRD717" in report) == bool(told)
    assert re.search(rf"1 round TRD717 tuning-not-kept: [\d.]+ m?s {re.escape(told)}", report) or not told

"""The pages of machine findings: the facts of each example yield its code, those of a fix nothing."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.machine.facts_table import machine_of
from triton_doctor.machine.diagnose import diagnose
from triton_doctor.machine.facts import Machine
from triton_doctor.report import MachineForm
from triton_doctor.report.machine import render_machine
from triton_doctor.rulebook import RulePage, page_paths, read_page

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = [page for page in map(read_page, page_paths()) if page.evidence == "environment"]
FENCE = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALSO = re.compile(r"# also: \[(?P<codes>[^\]]+)\]")


def examples(page: RulePage, *titles: str) -> Iterator[str]:
    for title in titles:
        yield from FENCE.findall(dict(page.sections).get(title, ""))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_facts_of_an_example_yield_the_finding(page: RulePage) -> None:
    found = list(examples(page, "Example", "More examples"))
    assert found
    for text in found:
        findings = diagnose(machine_of(tomllib.loads(text)))

        also = {code.strip() for match in ALSO.finditer(text) for code in match["codes"].split(",")}
        assert {finding.code for finding in findings} == {page.code} | also
        assert max(finding.severity for finding in findings if finding.code == page.code) <= page.severity


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_facts_of_a_fix_yield_nothing(page: RulePage) -> None:
    found = list(examples(page, "Fix", "More fixes"))
    assert found
    for text in found:
        assert diagnose(machine_of(tomllib.loads(text))) == []


def test_a_machine_in_order_has_nothing_wrong() -> None:
    assert diagnose(Machine()) == []


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        pytest.param(Machine(), "nothing is wrong with this machine", id="with triton"),
        pytest.param(
            Machine(triton=None),
            "nothing is wrong with this machine, as far as can be told without triton",
            id="without triton",
        ),
    ],
)
def test_summary_says_what_could_not_be_looked_at(machine: Machine, said: str) -> None:
    assert diagnose(machine) == []
    assert render_machine(machine, [], (3, 6), MachineForm.TEXT).splitlines()[-1] == said


def test_every_finding_is_one_line_without_a_full_stop() -> None:
    findings = [
        found
        for page in PAGES
        for text in examples(page, "Example", "More examples")
        for found in diagnose(machine_of(tomllib.loads(text)))
    ]

    assert findings
    for finding in findings:
        for text in (finding.message, finding.evidence, finding.remedy):
            assert text
            assert "\n" not in text
            assert not text.endswith(".")

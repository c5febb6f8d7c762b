"""The verbs `rule` and `rules`: a page for a person, and for a program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from triton_doctor import __version__
from triton_doctor.rulebook import page_paths, read_page, split_sections

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]


def test_version_is_told(doctor: Doctor) -> None:
    assert doctor("--version").out == f"triton-doctor {__version__}\n"


def test_no_verb_shows_what_there_is(doctor: Doctor) -> None:
    outcome = doctor()

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("Usage: triton-doctor")
    assert "Find what makes kernels recompile" in outcome.err


@pytest.mark.parametrize("code", ["TRD901", "trd901"])
def test_rule_is_rendered(doctor: Doctor, code: str) -> None:
    outcome = doctor("rule", code)

    assert outcome.status == 0
    assert outcome.out.startswith("TRD901 unused-suppression\nwarning, found by static evidence, since 0.1.0\n")
    assert "## " not in outcome.out


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["TRD901", "--output-format", "json"], id="after"),
        pytest.param(["--output-format", "json", "TRD901"], id="before"),
        pytest.param(["TRD901", "--output-format=json"], id="with an equals sign"),
    ],
)
def test_rule_as_json_carries_the_page(doctor: Doctor, arguments: list[str]) -> None:
    document = json.loads(doctor("rule", *arguments).out)

    page = read_page("TRD901")
    assert (document["code"], document["name"], document["severity"]) == ("TRD901", "unused-suppression", "warning")
    assert document["sections"] == dict(page.sections)


def test_rules_are_listed(doctor: Doctor) -> None:
    lines = doctor("rules").out.splitlines()

    assert [line.split()[0] for line in lines] == list(page_paths())
    assert all(read_page(line.split()[0]).summary in line for line in lines)


def test_rules_as_json_carry_every_page(doctor: Doctor) -> None:
    document = json.loads(doctor("rules", "--output-format", "json").out)

    assert [page["code"] for page in document["rules"]] == list(page_paths())


def test_heading_inside_a_fence_is_none() -> None:
    markdown = "## One\n\n```python\n## not a heading\n```\n\n## Two\ntext\n"

    assert list(split_sections(markdown)) == [("One", "```python\n## not a heading\n```"), ("Two", "text")]

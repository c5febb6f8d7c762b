"""The verb `rule`: a page for a person, and for a program."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest
import shellingham
from typer.main import get_command

from triton_doctor import __version__
from triton_doctor.cli import app
from triton_doctor.cli.help import TASKS
from triton_doctor.report.rule_page import render_page
from triton_doctor.rulebook import page_paths, read_page, split_sections

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]


def test_version_is_told(doctor: Doctor) -> None:
    assert doctor("--version").out == f"triton-doctor {__version__}\n"


def test_each_command_has_a_line_of_help_below_its_task(doctor: Doctor) -> None:
    outcome = doctor("--help")

    names = [name for commands in TASKS.values() for name in commands]
    assert sorted(names) == sorted(get_command(app).commands)
    assert outcome.status == 0
    assert all(f"\n  {name} " in outcome.out for name in names)
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_help_of_a_command_is_shown_by_help_and_by_the_option(doctor: Doctor) -> None:
    assert doctor("help", "check").out == doctor("check", "--help").out
    assert "\nFixes:\n" in doctor("help", "check").out


@pytest.mark.parametrize("code", ["TRD901", "trd901", "901", "Unused-Suppression"])
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
    lines = doctor("rule").out.splitlines()

    assert [line.split()[0] for line in lines] == list(page_paths())
    assert all(read_page(line.split()[0]).summary in line for line in lines)


def test_rules_as_json_carry_every_page(doctor: Doctor) -> None:
    document = json.loads(doctor("rule", "--output-format", "json").out)

    assert [page["code"] for page in document["rules"]] == list(page_paths())


def test_heading_inside_a_fence_is_none() -> None:
    markdown = "## One\n\n```python\n## not a heading\n```\n\n## Two\ntext\n"

    assert list(split_sections(markdown)) == [("One", "```python\n## not a heading\n```"), ("Two", "text")]


@pytest.mark.parametrize(
    "word",
    ["TRD201", "trd201", "201", "constexpr-varies-per-call", "Constexpr-Varies-Per-Call", "CONSTEXPR_VARIES_PER_CALL"],
)
def test_rule_is_found_by_code_and_by_name_in_any_case(doctor: Doctor, word: str) -> None:
    assert doctor("rule", word).out.startswith("TRD201 constexpr-varies-per-call\n")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        pytest.param("TRD2O1", "TRD201", id="a letter for a digit"),
        pytest.param("trd2l1", "TRD211", id="another letter"),
        pytest.param("TRD291", "TRD201", id="one wrong digit"),
        pytest.param("constexpr-varies", "TRD201 constexpr-varies-per-call", id="part of a name"),
        pytest.param("constexpr_varys_per_call", "TRD201 constexpr-varies-per-call", id="a misspelt name"),
    ],
)
def test_unknown_rule_suggests_the_one_that_was_meant(doctor: Doctor, word: str, meant: str) -> None:
    outcome = doctor("rule", word)

    assert outcome.status == 2
    assert outcome.err == (
        f"triton-doctor: there is no rule {word}\nhint: did you mean {meant}? `triton-doctor rule` lists them\n"
    )


def test_rules_may_be_selected_by_name(doctor: Doctor, write: Callable[[str, str], object]) -> None:
    write("a.py", "import os\nos.environ['TRITON_INTERPRET'] = '1'\nimport triton\n")

    selected = doctor("check", "a.py", "--select", "Interpreter-Mode-Set-In-Code", "--output-format", "concise")
    ignored = doctor("check", "a.py", "--ignore", "interpreter_mode_set_in_code")

    assert "TRD101" in selected.out
    assert ignored.status == 0


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        pytest.param(["TRD30"], ["TRD301", "TRD302", "TRD303", "TRD304"], id="a prefix"),
        pytest.param(["trd201", "constexpr-never-read"], ["TRD201", "TRD202"], id="a code and a name"),
    ],
)
def test_some_rules_are_listed(doctor: Doctor, words: list[str], codes: list[str]) -> None:
    assert [line.split()[0] for line in doctor("rule", *words).out.splitlines()] == codes


@pytest.mark.parametrize("width", [40, 60, 100])
@pytest.mark.parametrize("arguments", [["rule"], ["rule", "TRD101"]])
def test_pages_fit_a_narrow_terminal(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, arguments: list[str], width: int
) -> None:
    doctor()  # which takes COLUMNS away
    monkeypatch.setattr("os.environ", {**os.environ, "COLUMNS": str(width)})

    assert max(len(line) for line in doctor(*arguments).out.splitlines()) <= width


def test_link_from_a_page_to_another_is_shown_as_its_code() -> None:
    for code in page_paths():
        text = " ".join(render_page(read_page(code), color=False, width=80).split())
        assert not re.findall(r"\S*\]\((?:file|TRD)\S*", text), code
    assert "as fast as before, which TRD208 tells as an info" in " ".join(
        render_page(read_page("TRD201"), color=False, width=80).split()
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_is_shown(doctor: Doctor, shell: str) -> None:
    try:
        shellingham.detect_shell()
    except shellingham.ShellDetectionFailure:
        pytest.skip("no shell started this process, and typer asks which one did")
    outcome = doctor("--show-completion", shell)

    assert outcome.status == 0
    assert "triton-doctor" in outcome.out
    assert "--install-completion" in doctor("--help").out


def test_shell_completes_verbs_and_options(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TRITON_DOCTOR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "triton-doctor check --output-f")
    monkeypatch.setenv("COMP_CWORD", "2")

    assert doctor().out.split() == ["--output-format"]

"""What the documents at the root show is what happens: sessions, paths, hooks, and the rule that the guide adds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
import yaml

from tests.rule_pages import example_and_fixed
from triton_doctor.cli import app
from triton_doctor.rulebook import page_paths
from triton_doctor.settings import Settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

ROOT = Path(__file__).parent.parent
DOCUMENTS = {
    name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
}
SESSION = re.compile(r"^```\n\$ triton-doctor (?P<arguments>[^\n]+)\n(?P<printed>.*?)^```$", re.MULTILINE | re.DOTALL)
SESSIONS = list(SESSION.finditer(DOCUMENTS["README.md"]))
PLACEHOLDER = re.compile(
    r"\b(?:OWNER|ORG|TODO|FIXME|YOUR[-_ ]?\w+)\b|<(?:your|owner|user|repo)[^>\n]*>|\byour-\w+\b|/path/to|example\.com"
)
FENCE = re.compile(r"^(?P<ticks>`{3,4})(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=ticks)$", re.MULTILINE | re.DOTALL)
# A command in a block of code, up to a comment, a pipe or the next command; and as a list of words.
VERBS = "check|explain|run|report|compare|sweep|env|cache|prewarm|rule|rules"
COMMAND = re.compile(rf"(?:^|[ (]|bin/)triton-doctor ((?:{VERBS})\b[^\n`|#;&>]*)", re.MULTILINE)
LISTED = re.compile(r"\[triton-doctor, ([^]]*)\]")
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|md|tsv|toml)))`")


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session["arguments"])
def test_session_of_the_readme_prints_what_it_shows(
    doctor: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, session: re.Match[str]
) -> None:
    monkeypatch.chdir(ROOT)

    printed = doctor(*session["arguments"].split()).out

    assert session["printed"] in printed


def test_readme_shows_a_session() -> None:
    assert SESSIONS


@pytest.mark.parametrize("document", DOCUMENTS)
def test_document_leaves_nothing_to_fill_in(document: str) -> None:
    assert PLACEHOLDER.findall(DOCUMENTS[document]) == []


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_that_a_document_names_exist(document: str) -> None:
    named = set(PATH.findall(FENCE.sub("", DOCUMENTS[document])))

    assert named
    assert [
        path for path in sorted(named) if not any((top / path).exists() for top in (ROOT, ROOT / "triton_doctor"))
    ] == []


def test_commands_of_the_documents_are_understood() -> None:
    """By the command line itself, which runs nothing."""
    text = "".join(text for document in DOCUMENTS for _, text in fences(document))
    commands = [line.split() for line in COMMAND.findall(text)]
    commands += [line.split(", ") for line in LISTED.findall(text)]

    assert len(commands) > 40
    for words in commands:
        command = typer.main.get_command(app)
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        command.make_context("triton-doctor", words)


def test_rules_that_a_document_names_exist() -> None:
    named = {code for text in DOCUMENTS.values() for code in re.findall(r"\bTRD\d{3}\b", text)}

    assert named - page_paths().keys() == {"TRD503"}  # the rule that the guide adds


def test_hooks_that_the_readme_configures_are_offered() -> None:
    offered = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    files = [yaml.safe_load(text) for info, text in fences("README.md") if info == "yaml"]

    configured = {hook["id"] for file in files for repository in file.get("repos", ()) for hook in repository["hooks"]}

    assert configured
    assert configured <= offered


def test_rule_that_the_guide_adds_finds_what_its_page_says(tmp_path: Path) -> None:
    page, check = (text for info, text in fences("CONTRIBUTING.md") if "title=" in info)
    rule: dict[str, Any] = {}
    exec(check, rule)
    (marked_example,) = [text for info, text in split_fences(page) if info == "python"]
    for number, example in enumerate(example_and_fixed(page)):
        file = tmp_path / f"example_{number}.py"
        file.write_text(example, encoding="utf-8")
    settings = Settings(root=tmp_path)
    files = find_files([tmp_path], settings, cwd=tmp_path)
    found = rule["check"](whole_project(Database(files), settings, tmp_path))
    marked = [line for line, text in enumerate(marked_example.splitlines(), 1) if f"# error: [{rule['CODE']}]" in text]
    assert [(one.path, one.span.line, one.code) for one in found] == [
        ("example_0.py", line, rule["CODE"]) for line in marked
    ]


def fences(document: str) -> Iterator[tuple[str, str]]:
    """What follows the ticks of each fence of `document`, and the text in it."""
    return split_fences(DOCUMENTS[document])


def split_fences(text: str) -> Iterator[tuple[str, str]]:
    """The same of a text; a fence within another is part of its text."""
    return ((fence["info"].strip(), fence["text"]) for fence in FENCE.finditer(text))

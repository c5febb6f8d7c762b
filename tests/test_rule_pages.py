"""Every rule has a page in the one form, and every example on it does what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.reveals import REVEAL, find_reveals, reveal
from tests.rule_pages import FENCE, example_and_fixed
from triton_doctor.finding import Severity
from triton_doctor.report.rule_page import render_page
from triton_doctor.rulebook import RulePage, page_paths, read_page
from triton_doctor.settings import Settings
from triton_doctor.static.rules import registry
from triton_doctor.static.rules.registry import all_rules
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PAGES = [read_page(code) for code in page_paths()]
SECTIONS = ["Example", "Fix", "Not reported, or a note", "What it does", "Why it matters", "References"]
OPTIONAL = ["More examples", "More fixes"]
FIX = "What --fix does"  # before the references, on the pages of rules that have a fix
FIRST_SCREEN = 40  # lines
MARK = re.compile(r"[ \t]*# error: \[(?P<codes>[^\]]+)\][ \t]*$", re.MULTILINE)
CELL_END = re.compile(r"(?<!\\)\|")
SUFFIXES = {"python": "py"}  # of the languages whose name is not the suffix of their files
OWN_RULES = {"TRD900", "TRD901"}  # what scan.py itself yields


@dataclass(frozen=True, slots=True)
class Example:
    """A fence of a page: a file. Those with a title make one project, one without stands alone."""

    title: str | None
    language: str
    text: str

    def name(self) -> str:
        return self.title or f"code.{SUFFIXES.get(self.language, self.language)}"

    def marks(self) -> Iterator[tuple[str, int, str]]:
        for number, line in enumerate(self.text.splitlines(), start=1):
            if mark := MARK.search(line):
                for code in mark["codes"].split(","):
                    yield self.name(), number, code.strip()


def examples(page: RulePage, section: str) -> list[Example]:
    fences = FENCE.finditer(dict(page.sections).get(section, ""))
    return [Example(fence["title"], fence["language"], fence["text"]) for fence in fences]


def bad_projects(page: RulePage) -> list[list[Example]]:
    return [*projects(examples(page, "Example")), *projects(examples(page, "More examples"))]


def good_projects(page: RulePage) -> list[list[Example]]:
    """The example with its fix, and the other fixes."""
    example = examples(page, "Example")[0]
    _, fixed = example_and_fixed(page.markdown)
    return [[Example(example.title, example.language, fixed)], *projects(examples(page, "More fixes"))]


def projects(found: Sequence[Example]) -> Iterator[list[Example]]:
    titled = [example for example in found if example.title]
    if titled:
        yield titled
    yield from ([example] for example in found if not example.title)


def scan_examples(project: Sequence[Example], folder: Path) -> set[tuple[str, int, str]]:
    for example in project:
        path = folder / example.name()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MARK.sub("", REVEAL.sub("", example.text)), encoding="utf-8")
    settings = Settings(root=folder)
    found = scan(list(find_files([folder], settings, cwd=folder)), settings, cwd=folder).findings
    return {(finding.path, finding.span.line, finding.code) for finding in found}


FIXED = {code for code, rule in all_rules().items() if rule.plan is not None}
# Pages of other evidence have tests of their own, where the machine or the target that they need is at hand.
READERS: dict[str, Callable[[Sequence[Example], Path], set[tuple[str, int, str]]]] = {"static": scan_examples}
READ = [page for page in PAGES if page.evidence in READERS]


@pytest.mark.parametrize("page", READ, ids=lambda page: page.code)
def test_example_yields_what_its_comments_say(page: RulePage, tmp_path: Path) -> None:
    marked = 0
    for number, project in enumerate(bad_projects(page)):
        folder = tmp_path / str(number)
        folder.mkdir()

        found = READERS[page.evidence](project, folder)

        expected = {mark for example in project for mark in example.marks()}
        assert {mark for mark in found if mark[2] == page.code} == {mark for mark in expected if mark[2] == page.code}
        assert expected <= found
        marked += sum(code == page.code for _, _, code in expected)
    assert marked, f"no `# error: [{page.code}]` in the bad examples"


REVEALING = [page for page in READ if "# reveal:" in page.markdown]


@pytest.mark.parametrize("page", REVEALING, ids=lambda page: page.code)
def test_value_on_a_page_is_decided_by_the_hints_that_its_comment_lists(page: RulePage, tmp_path: Path) -> None:
    for number, project in enumerate(bad_projects(page)):
        folder = tmp_path / str(number)
        folder.mkdir()
        scan_examples(project, folder)
        settings = Settings(root=folder)

        found = reveal(list(find_files([folder], settings, cwd=folder)), settings, folder)

        for example in project:
            for line, value in find_reveals(example.text):
                assert found[example.name(), line] == {value}


@pytest.mark.parametrize("page", READ, ids=lambda page: page.code)
def test_example_is_silent_once_it_is_fixed(page: RulePage, tmp_path: Path) -> None:
    for number, project in enumerate(good_projects(page)):
        folder = tmp_path / str(number)
        folder.mkdir()

        found = READERS[page.evidence](project, folder)

        assert {mark for mark in found if mark[2] in {page.code, "TRD900"}} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_page_has_the_one_form(page: RulePage) -> None:
    sections = [*SECTIONS[:-1], FIX, SECTIONS[-1]] if page.code in {*FIXED, "TRD901"} else SECTIONS
    titles = [title for title, _ in page.sections]
    assert [title for title in titles if title not in OPTIONAL] == sections
    assert [title for title in titles if title in OPTIONAL] == sorted(set(titles) & set(OPTIONAL))
    assert all(text for _, text in page.sections)
    assert page.evidence in {"static", "environment", "runtime"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", page.since)
    assert page.severity in Severity
    assert "\n" not in page.summary
    assert not page.summary.endswith(".")
    assert not page.summary[:1].isupper() or page.summary[:2].isupper()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_example_and_fix_are_on_the_first_screen(page: RulePage) -> None:
    lines = page_paths()[page.code].read_text(encoding="utf-8").splitlines()
    shown = render_page(page, color=False, width=100).splitlines()

    for screen in (lines, [line.strip() for line in shown]):
        table = next(number for number, line in enumerate(screen) if line.endswith("Not reported, or a note"))
        assert len("\n".join(screen[:table]).strip().splitlines()) <= FIRST_SCREEN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_terminal_of_80_columns_cuts_nothing(page: RulePage) -> None:
    shown = render_page(page, color=False, width=80)

    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_table_follows_with_a_condition_and_an_example_in_each_row(page: RulePage) -> None:
    head, rule, *rows = dict(page.sections)["Not reported, or a note"].splitlines()

    assert head == "| condition | example | reported |"
    assert rule == "|---|---|---|"
    assert rows
    assert all(len(CELL_END.findall(row)) == 4 and "|  |" not in row for row in rows)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_fix_changes_the_example(page: RulePage) -> None:
    example, fixed = example_and_fixed(page.markdown)

    assert example != fixed


def test_names_of_rules_are_unique() -> None:
    assert len({page.name for page in PAGES}) == len(PAGES)


def test_every_check_has_a_page_and_every_static_page_a_check() -> None:
    assert {page.code for page in PAGES if page.evidence == "static"} == {*all_rules(), *OWN_RULES}


def test_every_file_of_the_rules_is_registered_and_bears_the_name_of_its_page() -> None:
    files = {file.stem for file in Path(registry.__file__).parent.glob("*.py")} - {"__init__", "registry"}
    pages = {page.code: page.name.replace("-", "_") for page in PAGES}

    assert {pages[code]: rule.check.__module__.rpartition(".")[2] for code, rule in all_rules().items()} == {
        name: name for name in files
    }

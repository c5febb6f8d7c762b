"""Recipes of ARCHITECTURE.md and CONTRIBUTING.md: the example of each is followed in a copy of the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.rule_pages import apply_diff
from tests.tritons import skip_without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "fixtures" / "recipes").glob("*.md"))
DOCUMENTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")}
MOST_LINES = {"ARCHITECTURE.md": 200, "CONTRIBUTING.md": 150}
RECIPE = re.compile(r"^(?:#+ |\*\*)(Add [\w ]+)", re.MULTILINE)
FENCE = re.compile(
    r'^(?P<ticks>`{3,4})(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^(?P=ticks)$',
    re.MULTILINE | re.DOTALL,
)
COPIED = ("triton_doctor", "rules", "tests", "fixtures")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the recipes change and run."""
    for name in COPIED:
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "corpus", "recordings")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def write_files(example: Path, checkout: Path) -> None:
    """Write the files that an example shows, and change those that it shows a diff of."""
    for fence in FENCE.finditer(example.read_text(encoding="utf-8")):
        if fence["title"]:
            path = checkout / fence["title"]
            is_diff = fence["language"] == "diff"
            text = apply_diff(path.read_text(encoding="utf-8"), fence["text"]) if is_diff else fence["text"]
            path.write_text(text, encoding="utf-8")


def run_commands(example: Path, checkout: Path) -> Iterator[subprocess.CompletedProcess[str]]:
    """Run each command that an example shows, with the package of `checkout`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    text = example.read_text(encoding="utf-8")
    for line in "".join(fence["text"] for fence in FENCE.finditer(text) if fence["language"] == "sh").splitlines():
        command = re.sub(r"\.venv/bin/triton-doctor\b", ".venv/bin/python -m triton_doctor", line)
        yield subprocess.run(
            f"set -o pipefail; {command.replace('.venv/bin/python', sys.executable)}",
            shell=True,
            executable="/bin/bash",
            cwd=checkout,
            env=kept | {"PYTHONPATH": str(checkout), "COLUMNS": "120"},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_example_of_a_recipe_works_as_it_is_written(example: Path, checkout: Path) -> None:
    if example.stem in ("add-a-cause", "add-a-torch-function"):
        skip_without("torch", "triton")
    write_files(example, checkout)

    ran = list(run_commands(example, checkout))

    assert ran
    assert [done.stdout + done.stderr for done in ran if done.returncode] == []
    assert [done.stdout for done in ran if "pytest" in done.args and " passed" not in done.stdout] == []


def test_row_of_a_hint_without_a_fixture_is_refused(checkout: Path) -> None:
    example = ROOT / "fixtures" / "recipes" / "add-a-hint.md"
    shown = (checkout / "fixtures" / "kernels" / "hints.py").read_bytes()
    write_files(example, checkout)
    (checkout / "fixtures" / "kernels" / "hints.py").write_bytes(shown)

    (done,) = run_commands(example, checkout)

    assert done.returncode == 1
    assert "named a hint" in done.stdout


def test_each_recipe_has_an_example() -> None:
    recipes = {name.strip().lower().replace(" ", "-") for text in DOCUMENTS.values() for name in RECIPE.findall(text)}

    assert recipes == {example.stem for example in EXAMPLES}
    assert [stem for stem in recipes if f"fixtures/recipes/{stem}.md" not in "".join(DOCUMENTS.values())] == []


@pytest.mark.parametrize(
    "command",
    [
        line.removeprefix("triton-doctor ")
        for fence in FENCE.finditer(DOCUMENTS["ARCHITECTURE.md"])
        if fence["language"] == "sh"
        for line in fence["text"].splitlines()
    ],
)
def test_command_of_a_recipe_has_an_answer(
    command: str, doctor: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)

    assert doctor(*command.split()).out


@pytest.mark.parametrize("document", MOST_LINES)
def test_document_is_short(document: str) -> None:
    assert len(DOCUMENTS[document].splitlines()) <= MOST_LINES[document]

"""The pictures of the README are what the tool prints: SVG made again, the page by the hash of its HTML."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
SPEC = importlib.util.spec_from_file_location("make_pictures", PICTURES / "make.py")
assert SPEC is not None
assert SPEC.loader is not None
make = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make)


@pytest.mark.parametrize("name", make.TERMINALS)
def test_terminal_is_drawn_as_the_command_prints_it(name: str) -> None:
    assert make.draw_terminal(name) == (PICTURES / name).read_text(encoding="utf-8"), "python docs/pictures/make.py"


def test_page_was_made_from_the_fixture_as_it_is_written_now(tmp_path: Path) -> None:
    make.write_page(tmp_path / "page.html")

    kept = json.loads((PICTURES / "page.json").read_text(encoding="utf-8"))
    assert make.hash_page(tmp_path / "page.html") == kept, "python docs/pictures/make.py"


def test_readme_shows_each_picture() -> None:
    shown = re.findall(r"\]\(docs/pictures/([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert sorted(shown) == sorted([*make.TERMINALS, make.PAGE])

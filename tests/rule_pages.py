"""The example of a rule page and what its fix makes of it. A fix is code of its own, or a diff of the example."""

from __future__ import annotations

import re

FENCE = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
MARK = re.compile(r"[ \t]*# (?:error|reveal): .*$", re.MULTILINE)


def section(page: str, title: str) -> str:
    """Return the text under the heading `title` of `page`; a line in a fence that looks like a heading ends nothing."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## [A-Z]|\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"no section {title}"
    return found[1]


def example_and_fixed(page: str) -> tuple[str, str]:
    """Return the code of the first fence under Example, without marks, and the code that Fix says to write."""
    example = FENCE.search(section(page, "Example"))
    fix = FENCE.search(section(page, "Fix"))
    assert example, "no code under Example"
    assert fix, "no code under Fix"
    before = MARK.sub("", example["text"])
    return before, apply_diff(before, fix["text"]) if fix["language"] == "diff" else fix["text"]


def apply_diff(text: str, diff: str) -> str:
    """Return `text` with each hunk of `diff` applied. A line `@@` separates hunks; each occurs once in `text`."""
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = [line or " " for line in hunk.splitlines()]
        assert {line[0] for line in lines} <= set(" +-"), hunk
        old = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
        new = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
        assert f"\n{text}".count(f"\n{old}") == 1, f"not found once:\n{old}"
        text = f"\n{text}".replace(f"\n{old}", f"\n{new}").removeprefix("\n")
    return text

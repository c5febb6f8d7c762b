"""Patterns of .gitignore files: what they mean stays what pathspec says, and no path makes one search for ever."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

import pytest
from pathspec import GitIgnoreSpec

from triton_doctor.static.sources import ignore_rules
from triton_doctor.static.sources.ignore_rules import compile_rules, without_backtracking

if TYPE_CHECKING:
    from pathlib import Path

PIECES = ("a", "b", "*", "*", "?", "/", "**/", "/**/", "[ab]", "\\*", "[!.]", ".", "{", "(")


def regexes(pattern: str) -> list[re.Pattern[str]]:
    try:
        return [one.regex for one in GitIgnoreSpec.from_lines([pattern]).patterns if one.regex is not None]
    except ValueError:
        return []


def in_git(regex: re.Pattern[str]) -> re.Pattern[str]:
    """`regex` with classes that match no slash."""
    return re.compile(regex.pattern.replace("[^.]", "[^/.]"))


@pytest.mark.parametrize("seed", range(4))
def test_patterns_match_the_paths_that_they_matched(seed: int) -> None:
    random = Random(seed)
    matched = 0
    for _ in range(4000):
        for regex in regexes("".join(random.choices(PIECES, k=random.randint(1, 9)))):
            rewritten = re.compile(without_backtracking(regex.pattern))
            for _ in range(4):
                path = re.sub("/+", "/", "".join(random.choices("aab/b*.", k=random.randint(1, 12)))).lstrip("/")
                expected, found = in_git(regex).search(path), rewritten.search(path)
                matched += expected is not None
                assert (found and found.groupdict()) == (expected and expected.groupdict()), (regex.pattern, path)
    assert matched > 1000


@pytest.mark.parametrize("pattern", ["a[!b]c", "a[+-9]c", "*a[!b]*c*"])
def test_class_matches_no_slash_as_in_git(folder: Path, pattern: str) -> None:
    rules = compile_rules(folder, [pattern])

    assert rules is not None
    assert rules.verdict(f"{folder.as_posix()}/a/c") is None
    assert rules.verdict(f"{folder.as_posix()}/a1c") is True


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        pytest.param("*a" * 16 + "*b", "a" * 200 + ".py", id="many stars"),
        pytest.param("x" + "*a" * 16 + "*b", "x" + "a" * 200 + ".py", id="many stars after a letter"),
        pytest.param("**/a/" * 16 + "b", "a/" * 200 + "c.py", id="many folders"),
        pytest.param("**/*a*a/" * 12 + "b", "aaa/" * 100 + "c.py", id="both"),
        pytest.param("*" * 300 + "b", "a" * 200, id="a row of stars"),
    ],
)
def test_hostile_pattern_ends(folder: Path, pattern: str, path: str) -> None:
    rules = compile_rules(folder, [pattern])

    assert rules is not None
    assert rules.verdict(f"{folder.as_posix()}/{path}") is None


def test_patterns_beyond_the_limit_are_told_and_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ignore_rules, "_MOST_PATTERNS", 2)

    rules = compile_rules(folder, ["a.py", "b.py", "c.py"])

    assert rules is not None
    assert [rules.verdict(f"{folder.as_posix()}/{name}") for name in ("a.py", "b.py", "c.py")] == [True, True, None]
    assert caplog.messages == [f"triton-doctor: of 3 patterns in {folder}, the first 2 count"]

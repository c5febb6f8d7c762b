"""Which rules are on: `--select` and `--ignore`, or their settings, as codes and prefixes of codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.rulebook import page_paths, rule_code, unknown_rule

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_selected(code: str, *, select: Sequence[str], ignore: Sequence[str]) -> bool:
    """Return whether `code` is on: the longer matching prefix decides, `ignore` if equal; no `select` selects all."""
    return longest_prefix(code, select or ("TRD",)) > longest_prefix(code, ignore)


def longest_prefix(code: str, prefixes: Sequence[str]) -> int:
    """Return the length of the longest of `prefixes` that `code` begins with; 0 if there is none."""
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)


def codes_of(words: Sequence[str], *, place: str | None = None) -> tuple[str, ...]:
    """Convert `words`, which are codes, prefixes of codes, or names, to codes. Raises DoctorError for other words.

    `place` says in messages where they were given.
    """
    codes = tuple(map(rule_code, words))
    for word, prefix in zip(words, codes, strict=True):
        if not prefix or not any(code.startswith(prefix) for code in page_paths()):
            raise unknown_rule(word or "``", place="" if place is None else f" in {place}")
    return codes

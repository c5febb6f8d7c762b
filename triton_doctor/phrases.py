"""Counts and lists in the words of a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Format a count with its noun: `1 launch`, `7 rounds of tuning`; `nouns` is an irregular plural."""
    return f"{count:,} {noun if count == 1 else nouns or _plural_of(noun)}"


def _plural_of(noun: str) -> str:
    head, of, rest = noun.partition(" of ")
    if head.endswith("y") and head[-2] not in "aeiou":
        head = f"{head[:-1]}ie"
    return f"{head}{'es' if head.endswith(('ch', 's')) else 's'}{of}{rest}"


def join_words(words: Sequence[str]) -> str:
    """Join `words` as in a sentence: `a`, `a and b`, or `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def quote_names(names: Iterable[str]) -> str:
    """Join `names` in backquotes: "`a`, `b` and `c`"."""
    return join_words([f"`{name}`" for name in names])

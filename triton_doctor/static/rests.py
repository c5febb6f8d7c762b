"""What an answer rests on, and what changed since: whether it is still the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Mapping


class Search(NamedTuple):
    """One look for the modules that may name something, tests `with_tests` only.

    They import one of `words`, or are the file `home`; they hold `text`, and what `pattern` says, None for nothing.
    """

    home: str
    words: frozenset[str]
    text: str
    pattern: bytes | None
    with_tests: bool


class Rests(NamedTuple):
    """What an answer rests on: files that were `consulted`, by path, names that are `missed`, and `searches`.

    A file of a missed name would have been consulted, and so would one that a search had found. Of files `there` it
    matters no more than that.
    """

    consulted: frozenset[str]
    there: frozenset[str]
    missed: frozenset[str]
    searches: frozenset[Search]

    def stands(self, changes: Changes) -> bool:
        """Whether the answer is the same after `changes`."""
        return (
            self.consulted.isdisjoint(changes.paths)
            and self.there.isdisjoint(changes.gone)
            and self.missed.isdisjoint(changes.names)
            and not any(map(changes.concern, self.searches))
        )


class ChangedFile(NamedTuple):
    """A Python file that is not as it was: the `words` that it imports, and did; `text` None if it is gone."""

    text: bytes | None
    words: frozenset[str]
    words_before: frozenset[str]


class Changes:
    """What is not as it was: `paths` of files that changed, came or went, those `gone`, and the `names` that came."""

    def __init__(
        self,
        paths: frozenset[str],
        gone: frozenset[str],
        names: frozenset[str],
        files: Mapping[str, ChangedFile],
        tests: Container[str] = (),
    ) -> None:
        """`files` are the Python files among `paths`."""
        self.paths = paths
        self.gone = gone
        self.names = names
        self._files = files
        self._tests = tests
        self._moved = frozenset[str]().union(*(file.words ^ file.words_before for file in files.values()))
        self._importing: dict[str, list[str]] = {}
        for path, file in files.items():
            for word in file.words & file.words_before:
                self._importing.setdefault(word, []).append(path)
        self._concerned: dict[Search, bool] = {}

    def concern(self, search: Search) -> bool:
        """Whether `search` may find other files now, or one that changed."""
        if search not in self._concerned:
            self._concerned[search] = not self._moved.isdisjoint(search.words) or self._may_find(search)
        return self._concerned[search]

    def _may_find(self, search: Search) -> bool:
        importing = {path for word in search.words for path in self._importing.get(word, ())}
        return any(
            _fits(search, text)
            for path in {search.home, *importing} & self._files.keys()
            if (text := self._files[path].text) is not None and (search.with_tests or path not in self._tests)
        )


def _fits(search: Search, text: bytes) -> bool:
    return search.text.encode() in text and (search.pattern is None or re.search(search.pattern, text) is not None)


NO_CHANGES = Changes(frozenset(), frozenset(), frozenset(), {})

"""The modules of a scan as one question sees them: read when asked for, and kept as what the answer rests on."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import TYPE_CHECKING

from triton_doctor.static.library import last_name
from triton_doctor.static.rests import Rests, Search

if TYPE_CHECKING:
    import re
    from collections.abc import Container, Iterable, Iterator

    from triton_doctor.static.library import Library
    from triton_doctor.static.model import Module


class Modules(Mapping[str, "Module"]):
    """The Python files of `library` by path, for one question."""

    def __init__(self, library: Library) -> None:
        """Nothing is asked yet."""
        self._library = library
        self._consulted: set[str] = set()
        self._there: set[str] = set()
        self._missed: set[str] = set()
        self._searches: set[Search] = set()

    def rests(self) -> Rests:
        """What was asked so far."""
        consulted, there, missed = map(_interned, (self._consulted, self._there, self._missed))
        return Rests(consulted, there, missed, frozenset(self._searches))

    def __getitem__(self, path: str) -> Module:
        if path not in self._library.python:
            self._missed.add(last_name(path))
            raise KeyError(path)
        self._consulted.add(path)
        module = self._library.module(path)
        if module is None:
            raise KeyError(path)
        return module

    def __iter__(self) -> Iterator[str]:
        return iter(self._library.python)

    def __len__(self) -> int:
        return len(self._library.python)

    def source(self, path: str) -> bytes:
        """The bytes of the file at `path`, which is one of the scan's."""
        self._consulted.add(path)
        return self._library.python[path]

    def has(self, path: str) -> bool:
        """Whether there is a Python file at `path`, which is not read for that."""
        if path in self._library.python:
            self._there.add(path)
            return True
        self._missed.add(last_name(path))
        return False

    def naming(
        self,
        name: str,
        home: str,
        text: str,
        pattern: re.Pattern[bytes] | None = None,
        *,
        but: Container[str] = (),
    ) -> Iterator[Module]:
        """The modules that hold `text` and may name what `home` defines as `name`, by path, `but` those of some tests.

        Only those in which `pattern` is found, where given.
        """
        words, paths = self._library.naming(name, home, text)
        self._searches.add(Search(home, words, text, pattern.pattern if pattern is not None else None, but == ()))
        found = paths if pattern is None else self._library.matching(pattern, paths)
        for path in paths:
            module = self.get(path) if path in found and path not in but else None
            if module is not None:
                yield module


def _interned(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(intern, words))

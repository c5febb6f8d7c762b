"""The modules of a scan as one question sees them: read when asked for, and kept as what the answer rests on."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.importers import last_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.library import Library
    from triton_doctor.static.model import Module
    from triton_doctor.static.signs import Sign


class Changes(NamedTuple):
    """What is not as it was: `paths` of files that changed, came or went, the `names` of those that came.

    `words` are those that stand after an `import` where they did not before.
    """

    paths: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]


NO_CHANGES = Changes(frozenset(), frozenset(), frozenset())


class Rests(NamedTuple):
    """What an answer rests on: `consulted` files, by path; names that are `missed`, and those that were `sought`.

    A file of a missed name would have been consulted. Files that import a sought name may call what was asked about.
    """

    consulted: frozenset[str]
    missed: frozenset[str]
    sought: frozenset[str]

    def stands(self, changes: Changes) -> bool:
        """Whether the answer is the same after `changes`."""
        return (
            self.consulted.isdisjoint(changes.paths)
            and self.missed.isdisjoint(changes.names)
            and self.sought.isdisjoint(changes.words)
        )


class Modules(Mapping[str, "Module"]):
    """The Python files of `library` by path, for one question."""

    def __init__(self, library: Library) -> None:
        """Nothing is asked yet."""
        self._library = library
        self._consulted: set[str] = set()
        self._missed: set[str] = set()
        self._sought: set[str] = set()

    def rests(self) -> Rests:
        """What was asked so far."""
        return Rests(*(frozenset(map(intern, names)) for names in (self._consulted, self._missed, self._sought)))

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
        there = path in self._library.python
        if not there:
            self._missed.add(last_name(path))
        return there

    def naming(self, name: str, home: str, text: str, sign: Sign | None = None) -> Iterator[Module]:
        """The modules that hold `text` and may name what `home` defines as `name`, by path.

        Only those in which `sign` stands, where given: the others are consulted, and need not be read for that.
        """
        words, paths = self._library.naming(name, home, text)
        self._sought |= words
        worth_reading = paths if sign is None else self._library.showing(sign, paths)
        for path in paths:
            self._consulted.add(path)
            module = self.get(path) if path in worth_reading else None
            if module is not None:
                yield module

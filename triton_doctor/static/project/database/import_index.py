"""What a file defines to the files that may name it: those that import it, or a module from which they can take it."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.database.roles import taken_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from triton_doctor.static.sources.source_text import TextPattern

# A name is handed on from package to package that often.
_MOST_HOPS = 4


class NamingFiles(NamedTuple):
    """The `paths` of the files that may name something. Any other would have to import one of `words`."""

    words: frozenset[str]
    paths: tuple[str, ...]


class ImportIndex:
    """Looks for names in `texts`, by path. `words` are those that stand after an `import`, of the files that count."""

    def __init__(self, texts: Mapping[str, bytes], words: Mapping[str, frozenset[str]]) -> None:
        """Who imports what is put in order; no text is searched yet."""
        self._texts = texts
        self._importing: dict[str, set[str]] = {}
        for path, imported in words.items():
            for word in imported:
                self._importing.setdefault(word, set()).add(path)
        self._naming: dict[tuple[str, str, str | None], NamingFiles] = {}
        self._showing: dict[tuple[TextPattern, str], bool] = {}
        self._marked: dict[tuple[tuple[TextPattern, ...], tuple[str, ...]], tuple[str, ...]] = {}
        self._taken: dict[str, frozenset[bytes]] = {}

    def naming(self, name: str, home: str, member: str | None = None) -> NamingFiles:
        """The files that may name what `home` defines as `name`, by path: itself, and importers.

        They import the name; or its module, or a package whose `__init__` does, which hands it on, and take it there.
        Where `member` is given, they also say `something.member`. Where there is no `home`, `name` is a module that is
        no file of the scan, and they import it and say `name.member`.
        """
        key = (name, home, member)
        if key not in self._naming and not home:
            sign = b"" if member is None else f"{name}.{member}".encode()
            signed = (path for path in self._importing.get(name, ()) if sign in self._texts[path])
            self._naming[key] = NamingFiles(frozenset({name}), tuple(sorted(signed)))
        if key not in self._naming:
            words, modules = {name, last_name(home)}, {home}
            for _ in range(_MOST_HOPS):
                new = set[str]().union(*(self._importing.get(word, ()) for word in words)) - modules
                modules |= new
                packages = {last_name(path) for path in new if path.endswith("__init__.py")} - words
                if not packages:
                    break
                words |= packages
            certain = {home, *self._importing.get(name, ())}
            found = {path for path in modules if path in certain or self._takes(path, name)}
            if member is not None:
                found = {path for path in found if self._takes(path, member)}
            self._naming[key] = NamingFiles(frozenset(words), tuple(sorted(found)))
        return self._naming[key]

    def showing(self, sign: TextPattern, paths: Sequence[str]) -> frozenset[str]:
        """Those of `paths` in whose text `sign` stands."""
        for path in paths:
            if (sign, path) not in self._showing:
                self._showing[sign, path] = any(True for _ in sign.offsets(self._texts[path]))
        return frozenset(path for path in paths if self._showing[sign, path])

    def marked(self, marks: tuple[TextPattern, ...], paths: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `paths` in whose text one of `marks` stands: the same are asked about one word after the other."""
        key = (marks, paths)
        if key not in self._marked:
            shown = frozenset[str]().union(*(self.showing(mark, paths) for mark in marks))
            self._marked[key] = tuple(path for path in paths if path in shown)
        return self._marked[key]

    def _takes(self, path: str, name: str) -> bool:
        """Whether the file may take `name` from a module that it has imported, or from something else."""
        if path not in self._taken:
            self._taken[path] = taken_names(self._texts[path])
        return name.encode() in self._taken[path]


def paths_by_import(paths: Iterable[str], *imported: Callable[[str], frozenset[str]]) -> Mapping[str, Sequence[str]]:
    """Names to those of `paths` that import a module called so, or something of it; `imported` give the names."""
    found: dict[str, list[str]] = {}
    for path in paths:
        for name in frozenset[str]().union(*(names(path) for names in imported)):
            found.setdefault(name, []).append(path)
    return found


def last_name(path: str) -> str:
    """What an import calls the module at `path`: `b` for `a/b.py` and for `a/b/__init__.py`."""
    folder, _, file = path.rpartition("/")
    return posixpath.basename(folder) if file == "__init__.py" else file.removesuffix(".py")

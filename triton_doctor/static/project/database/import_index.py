"""The import index: which files may name a definition, because they import it or a module that provides it."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.database.roles import taken_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from triton_doctor.static.sources.source_text import TextPattern

# Re-exports from package to package are followed this often.
_MOST_HOPS = 4


class NamingFiles(NamedTuple):
    """The `paths` of the files that may name something. Any other file would have to import one of `words` first."""

    words: frozenset[str]
    paths: tuple[str, ...]


class ImportIndex:
    """An index of `texts` by imported names. `words` are the names after `import`, of the files that count."""

    def __init__(self, texts: Mapping[str, bytes], words: Mapping[str, frozenset[str]]) -> None:
        """Index the imports; no text is searched yet."""
        self._texts = texts
        self._importing: dict[str, set[str]] = {}
        for path, imported in words.items():
            for word in imported:
                self._importing.setdefault(word, set()).add(path)
        self._naming: dict[tuple[str, str, str | None], NamingFiles] = {}
        self._matching: dict[tuple[TextPattern, str], bool] = {}
        self._marked: dict[tuple[tuple[TextPattern, ...], tuple[str, ...]], tuple[str, ...]] = {}
        self._taken: dict[str, frozenset[bytes]] = {}

    def files_naming(self, name: str, home: str, member: str | None = None) -> NamingFiles:
        """Return the files that may name the definition `name` of `home`, by path: `home` itself and importers.

        Importers import the name itself, or its module, or a package whose `__init__` re-exports it, and take it from
        there. If `member` is given, their text must also contain `something.member`. Without `home`, `name` is a module
        outside the scan; its importers must contain `name.member`.
        """
        key = (name, home, member)
        if key not in self._naming and not home:
            pattern = b"" if member is None else f"{name}.{member}".encode()
            signed = (path for path in self._importing.get(name, ()) if pattern in self._texts[path])
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

    def matching(self, pattern: TextPattern, paths: Sequence[str]) -> frozenset[str]:
        """Return those of `paths` whose text matches `pattern`."""
        for path in paths:
            if (pattern, path) not in self._matching:
                self._matching[pattern, path] = any(True for _ in pattern.offsets(self._texts[path]))
        return frozenset(path for path in paths if self._matching[pattern, path])

    def marked(self, marks: tuple[TextPattern, ...], paths: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of `paths` whose text matches one of `marks`: asked again for one word after the other."""
        key = (marks, paths)
        if key not in self._marked:
            shown = frozenset[str]().union(*(self.matching(mark, paths) for mark in marks))
            self._marked[key] = tuple(path for path in paths if path in shown)
        return self._marked[key]

    def _takes(self, path: str, name: str) -> bool:
        """Return whether the file may take `name` from an imported module or some other object."""
        if path not in self._taken:
            self._taken[path] = taken_names(self._texts[path])
        return name.encode() in self._taken[path]


def paths_by_import(paths: Iterable[str], *imported: Callable[[str], frozenset[str]]) -> Mapping[str, Sequence[str]]:
    """Return, for each imported name, those of `paths` that import it; the functions `imported` give a file's names."""
    found: dict[str, list[str]] = {}
    for path in paths:
        for name in frozenset[str]().union(*(names(path) for names in imported)):
            found.setdefault(name, []).append(path)
    return found


def last_name(path: str) -> str:
    """Return the last name of the module at `path`: `b` for `a/b.py` and for `a/b/__init__.py`."""
    folder, _, file = path.rpartition("/")
    return posixpath.basename(folder) if file == "__init__.py" else file.removesuffix(".py")

"""Reachability: may anything in the project run a function, apart from tests, benchmarks and examples?

A function is unreachable only if the project says so: other modules import from its module, and nothing calls it,
exports it or uses its name. A name that a package exports is unreachable if the project itself imports it from there
without using it. Functions of a script, or of a file that nothing imports, are all reachable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.calls.mentions import MENTIONS, is_alias, read_mentions, use_pattern
from triton_doctor.static.project.calls.operators import may_register, operators
from triton_doctor.static.project.database.import_index import last_name
from triton_doctor.static.project.limits import MOST_DEPTH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from triton_doctor.static.project.calls.call_graph import CallGraph
    from triton_doctor.static.project.calls.mentions import Mentions
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.module import Import, Module


class Reachability:
    """Computes which functions of one project may run."""

    def __init__(self, project: Project, callers: CallGraph) -> None:
        """Start with an empty cache."""
        self._project = project
        self._callers = callers
        self._known: dict[tuple[str, str], bool] = {}

    def reaches(self, module: Module, function: Function) -> bool:
        """Return whether something in the project may run `function` of `module`."""
        key = (function.path, function.qualname)
        if key not in self._known:
            self._known[key] = self._reaches(module, function, frozenset())
        return self._known[key]

    def exports(self, module: Module, function: Function) -> bool:
        """Return whether a package exports `function` of `module`, or its class, to unknown callers."""
        name = (function.class_name or function.name).partition(".")[0]
        return any(
            _re_exports(other, imported) or (other.path.endswith("__init__.py") and imported.member == name)
            for other, _, imported in self._importers_of(module, (name,))
        )

    def _reaches(self, module: Module, function: Function, above: frozenset[tuple[str, str]]) -> bool:
        function = outermost(module, function)
        key = (function.path, function.qualname)
        if key in above:
            return False
        if len(above) == MOST_DEPTH or function.name == "<module>":
            return True
        name, entered = function.name, function
        if function.class_name is not None:
            forward = module.functions.get(f"{function.class_name}.forward")
            if forward is None or f"{function.class_name}.backward" not in module.functions:
                return True
            name, entered = function.class_name.rpartition(".")[2], forward
        own_operators = operators(module).get(function.name, ()) if function.class_name is None else ()
        if not own_operators and any(may_register(decorator) for decorator in function.decorators):
            return True
        callers = list(self._callers.callers_of(module, entered, include_tests=True))
        if own_operators and not callers:
            return True
        own = above | {key} | {(caller.module.path, caller.function.qualname) for caller in callers}
        names = {name, *_aliases(module, name)}
        if any(self._is_used(module, name, own) for name in sorted(names)):
            return True
        if any(
            self._reaches(caller.module, caller.function, above | {key})
            for caller in callers
            if not self._callers.is_no_program(caller.module, caller.function, caller.site.arms)
        ):
            return True
        # Files without Triton are not part of a search.
        if any(
            _re_exports(other, imported)
            or any(
                self._does_use(other.path, local if imported.member == name else name, own)
                for name in names
                if imported.member in (None, name, last_name(module.path))
            )
            for other, local, imported in self._importers_of(module, names)
        ):
            return True
        return not any(True for _ in self._importers_of(module))  # last, since it reads the most files

    def _is_used(self, module: Module, name: str, own: frozenset[tuple[str, str]]) -> bool:
        """Return whether a file with Triton uses `name` of `module` outside the functions `own`."""
        project = self._project
        found = project.modules.search(MENTIONS, name, name=name, home=module.path, skip=project.tests)
        return any(
            self._counts(path, name, mentions, own) and not self._is_another(path, name, mentions, module)
            for path, mentions in found
            if mentions is not None and path not in project.demonstrations
        )

    def _does_use(self, path: str, name: str, own: frozenset[tuple[str, str]]) -> bool:
        return self._counts(path, name, read_mentions(self._project.modules[path], name), own)

    def _counts(self, path: str, name: str, mentions: Mentions | None, own: frozenset[tuple[str, str]]) -> bool:
        """Return whether the file at `path` re-exports `name`, or uses it outside `own`, itself and its callers."""
        if mentions is None or mentions.is_valued:
            return mentions is not None
        if mentions.is_exported and not self._is_imported_unused(path, name):
            return True
        return any(
            not any(path == other and _is_related(qualname, inner) for other, inner in own)
            for qualname in mentions.functions
        )

    def _is_imported_unused(self, package: str, name: str) -> bool:
        """Return whether the project imports `name` from the package at that path, and no file uses it."""
        is_taken = False
        for other, local, imported in self._importers_of(self._project.modules[package], (name,)):
            if _re_exports(other, imported) or read_mentions(other, local if imported.member == name else name):
                return False
            is_taken |= imported.member == name
        return is_taken

    def _is_another(self, path: str, name: str, mentions: Mentions, module: Module) -> bool:
        """Return whether the `name` that the file at `path` calls belongs to another module than `module`."""
        if path == module.path:
            return False
        place = self._project.names.locate(path, name)
        if place is not None:
            return place.path not in (path, module.path)
        # An import of a folder above, or of the module itself, may refer to it although its path is not followed.
        folders = (*module.path.split("/"), last_name(module.path))
        return mentions.library is not None and mentions.library not in folders

    def _importers_of(
        self, module: Module, using: Collection[str] | None = None
    ) -> Iterator[tuple[Module, str, Import]]:
        """Yield the imports of `module`, or of something in it, with the names that they bind.

        Only those of other files that are neither tests nor demonstrations. With `using`, files that neither mention
        one of these names nor may re-export all names are not read.
        """
        project, stem = self._project, last_name(module.path)
        for path in project.modules.importers(stem, None if using is None else map(use_pattern, using)):
            if path == module.path or path in project.tests or path in project.demonstrations:
                continue
            other = project.modules.get(path)
            bound = (
                (*other.imports.items(), *(("*", star_import) for star_import in other.star_imports))
                if other is not None
                else ()
            )
            for local, import_ in bound:
                # `import a.b` binds `a`, by which it may be used.
                named = "." not in local and (stem == import_.member or stem in import_.module.split("."))
                if other is not None and named and module.path in project.names.modules_imported(path, import_):
                    yield other, local, import_


def outermost(module: Module, function: Function) -> Function:
    """Return the function or method of `module` that contains `function`; itself at the top level."""
    while function.parent is not None and function.parent != "<module>" and function.parent in module.functions:
        function = module.functions[function.parent]
    return function


def _aliases(module: Module, name: str) -> Iterator[str]:
    """Yield the other names of `name` at the top level: `scale = Scale.apply`."""
    for bindings in module.top.bindings.values():
        yield from (binding.name for binding in bindings if is_alias(binding.value, name))


def _re_exports(other: Module, imported: Import) -> bool:
    """Return whether `other` star-imports the module, or is a package that imports it whole."""
    return imported in other.star_imports or (other.path.endswith("__init__.py") and imported.member is None)


def _is_related(name: str, other: str) -> bool:
    """Return whether two qualified names are of one function, of a class and its method, or of nested functions."""
    return f"{name}.".startswith(f"{other}.") or f"{other}.".startswith(f"{name}.")

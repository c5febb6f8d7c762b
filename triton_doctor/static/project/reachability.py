"""Functions to whether anything in the project may run them, apart from its tests, benchmarks and examples.

A function is out of reach only where its project says so: other modules import something of its module, and nothing
calls it, exports it or uses its name. The functions of a script, or of a file that nobody imports, are all in reach.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.import_index import last_name
from triton_doctor.static.python.ir import Attr, Call, Const, Name, children
from triton_doctor.static.sources.text_patterns import TextPattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.project.call_graph import CallGraph
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Import, Module

# Callers of callers are followed so far; behind that, a function is taken to be in reach.
_MOST_DEPTH = 6
_BEFORE = re.compile(rb"(?<![A-Za-z0-9_])(?<!def )")
_AFTER = re.compile(rb"(?![A-Za-z0-9_])")


class Reachability:
    """Tells which functions of one project something in it may run."""

    def __init__(self, project: Project, callers: CallGraph) -> None:
        """Nothing is looked at yet."""
        self._project = project
        self._callers = callers
        self._importers: dict[str, Sequence[tuple[Module, Import]]] = {}

    def reaches(self, module: Module, function: Function) -> bool:
        """Whether something in the project may run `function` of `module`."""
        return self._reaches(module, function, frozenset())

    def _reaches(self, module: Module, function: Function, above: frozenset[tuple[str, str]]) -> bool:
        while function.parent is not None and function.parent != "<module>" and function.parent in module.functions:
            function = module.functions[function.parent]
        key = (function.path, function.qualname)
        if key in above:
            return False
        if len(above) == _MOST_DEPTH or function.name == "<module>":
            return True
        name, entered = function.name, function
        if function.class_name is not None:
            forward = module.functions.get(f"{function.class_name}.forward")
            if forward is None or f"{function.class_name}.backward" not in module.functions:
                return True
            name, entered = function.class_name.rpartition(".")[2], forward
        importers = self._importers_of(module)
        if not importers or any(isinstance(decorator, Call) for decorator in function.decorators):
            return True  # a script, or what a decorator may register
        names = {name, *_aliases(module, name)}
        if any(_hands_on(other, imported, names) for other, imported in importers):
            return True
        callers = list(self._callers.of(module, entered))
        own = above | {key} | {(caller.module.path, caller.function.qualname) for caller in callers}
        homes = {module.path: module}
        homes |= {other.path: other for other, one in importers if one.member is None or one.member in names}
        if any(_uses(home, names, own) for home in homes.values()):
            return True
        return any(
            self._reaches(caller.module, caller.function, above | {key})
            for caller in callers
            if not self._callers.is_no_program(caller.module, caller.function, caller.site.arms)
        )

    def _importers_of(self, module: Module) -> Sequence[tuple[Module, Import]]:
        """The imports of `module`, or of something of it, in other files that are neither tests nor demonstrations."""
        if module.path not in self._importers:
            self._importers[module.path] = tuple(self._find_importers(module))
        return self._importers[module.path]

    def _find_importers(self, module: Module) -> Iterator[tuple[Module, Import]]:
        project = self._project
        for other in project.modules.importers(last_name(module.path)):
            if other is module or other.path in project.tests or other.path in project.demonstrations:
                continue
            for one in (*other.imports.values(), *other.star_imports):
                if module.path in project.names.modules_imported(other.path, one):
                    yield other, one


def _aliases(module: Module, name: str) -> Iterator[str]:
    """What the top level calls `name` too: `scale = Scale.apply`."""
    for bindings in module.functions["<module>"].bindings.values():
        yield from (one.name for one in bindings if _is_alias(one.value, {name}))


def _is_alias(value: Expr, names: set[str]) -> bool:
    match value:
        case Name(found) | Attr(Name(found), "apply"):
            return found in names
        case _:
            return False


def _hands_on(other: Module, imported: Import, names: set[str]) -> bool:
    """Whether `other` makes one of `names` of the module that it imports part of a package, or takes all there is."""
    is_package = other.path.endswith("__init__.py")
    return imported in other.star_imports or (is_package and (imported.member is None or imported.member in names))


def _uses(home: Module, names: set[str], own: frozenset[tuple[str, str]]) -> bool:
    """Whether code of `home` uses one of `names` as a value; the functions that are its `own`, or call it, aside."""
    for function in home.functions.values():
        if function.name == "<module>":
            if any(_names(expr, names) for expr in _expressions(function, names)):
                return True
        elif any(map(function.shows, map(_mention, names))) and not any(
            path == home.path and _is_related(function.qualname, qualname) for path, qualname in own
        ):
            return True
    return False


def _is_related(one: str, other: str) -> bool:
    """Whether two qualified names are of one function, of a class and its method, or of a function in the other."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


@cached_in_scan()
def _mention(name: str) -> TextPattern:
    return TextPattern(name, _BEFORE, _AFTER)


def _expressions(function: Function, names: set[str]) -> Iterator[Expr]:
    """The expressions of assignments and calls, but for those that only give one of `names` another."""
    values = (one.value for bindings in function.bindings.values() for one in bindings)
    pending: list[Expr] = [value for value in values if not _is_alias(value, names)]
    pending += [site.call for site in function.calls]
    while pending:
        expr = pending.pop()
        yield expr
        pending.extend(children(expr))


def _names(expr: Expr, names: set[str]) -> bool:
    match expr:
        case Name(found) | Attr(_, found) | Const(str(found)):
            return found in names
        case _:
            return False

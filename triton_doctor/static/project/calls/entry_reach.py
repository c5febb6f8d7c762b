"""What a program reaches from its entry: the modules that it imports, and the functions of them that its code names.

Names decide, not types: a function is reached if reached code uses a name that refers to it, or its name after a
dot; a method if its class is too. So a launch is left out only if nothing reached mentions the function that makes it.

Example: the entry `serve.py` imports `ops` and calls `ops.rope(x)`. The functions `rope` of `ops`, and what they name,
are reached; `ops.swiglu` is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from posixpath import dirname
from typing import TYPE_CHECKING

from triton_doctor.static.project.calls.operators import may_register, operators
from triton_doctor.static.python.ir import Attr, Call, Const, Name, every_part, final_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Class, Module

_WORD = re.compile(r"(\.\s*)?([A-Za-z_]\w*)")
# Comments that fill a line, and texts in three quotes without expressions.
_PROSE = re.compile(r"^[ \t]*#[^\n]*|(?<![fF])(\"\"\"|''')(?:.|\n)*?\1", re.MULTILINE)
# Bases outside of the scan that call no method but these of the classes derived from them.
_CALLED_BY_BASE = {
    "Module": ("forward",),
    "Function": ("forward", "setup_context"),
    **dict.fromkeys(("object", "ABC", "Protocol", "NamedTuple", "Enum", "IntEnum", "StrEnum", "Generic"), ()),
}
_BY_COMPUTED_NAME = frozenset({"import_module", "__import__", "exec", "eval", "getattr"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What a program reaches. `functions` are (path, qualified name).

    `outside` are the imported packages that are not part of the scan, each with the first file that imports it.
    `computed` are the places, path and line, where code is chosen by a name that is computed, and how.
    """

    functions: frozenset[tuple[str, str]]
    outside: tuple[tuple[str, str], ...]
    computed: tuple[tuple[str, int, str], ...]


def find_reached(project: Project, entry: str, foreign: Container[str] = ()) -> Reached:
    """Return what the program whose script is the file at `entry` reaches, without the packages `foreign`."""
    return _Search(project, entry, foreign).run()


class _Search:
    """Grows the set of words that reached code uses until no function is added."""

    def __init__(self, project: Project, entry: str, foreign: Container[str]) -> None:
        self._project, self._entry, self._foreign = project, entry, foreign
        self._modules: dict[str, Module] = {}
        # Names after a dot, wherever they are used; and what other names refer to: path and qualified name.
        self._attributes: set[str] = set()
        self._named: set[tuple[str, str]] = set()
        self._functions: dict[tuple[str, str], Function] = {}
        self._classes: set[tuple[str, str]] = set()
        self._tables: set[tuple[str, str]] = set()
        self._outside: dict[str, str] = {}

    def run(self) -> Reached:
        self._load(self._entry)
        before = -1
        while before < len(self._attributes) + len(self._named) + len(self._functions) + len(self._modules):
            before = len(self._attributes) + len(self._named) + len(self._functions) + len(self._modules)
            for module in list(self._modules.values()):
                self._grow(module)
        return Reached(
            functions=frozenset(self._functions),
            outside=tuple(sorted(self._outside.items())),
            computed=tuple(sorted(set(self._computed()))),
        )

    def _load(self, path: str) -> None:
        """Run the top level of the file at `path`, and load what it imports and the packages around it."""
        pending = [path]
        while pending:
            path = pending.pop()
            module = self._project.modules.get(path) if path not in self._modules else None
            if module is None:
                continue
            self._modules[path] = module
            self._add(module.top)
            for imported in (*module.imports.values(), *module.star_imports):
                if not imported.level and imported.module.partition(".")[0] in self._foreign:
                    continue
                found = self._project.names.modules_imported(path, imported)
                pending += found
                if not found:
                    self._outside.setdefault(imported.module.partition(".")[0], path)
            folder = dirname(path)
            while f"{folder}/__init__.py" in self._project.modules:
                pending.append(f"{folder}/__init__.py")
                folder = dirname(folder)

    def _grow(self, module: Module) -> None:
        for owner in module.classes.values():
            key = (module.path, owner.qualname)
            if key not in self._classes and self._is_named(*key):
                self._classes.add(key)
                fields = (binding.value for binding in owner.fields.values())
                self._use(module, _names(every_part(*owner.bases, *fields)))
        for name, bindings in module.top.bindings.items():
            if (module.path, name) not in self._tables and self._is_named(module.path, name):
                self._tables.add((module.path, name))
                self._use(module, _names(every_part(*(binding.value for binding in bindings))))
        for function in module.functions.values():
            if (module.path, function.qualname) not in self._functions and self._is_reached(module, function):
                self._add(function)

    def _is_reached(self, module: Module, function: Function) -> bool:
        if function.is_for_main and module.path != self._entry:
            return False
        if function.parent not in (None, "<module>") and function.class_name is None:
            return (module.path, function.parent) in self._functions
        if function.class_name is not None:
            owner = module.classes.get(function.class_name)
            if (module.path, function.class_name) not in self._classes or owner is None:
                return False
            return (
                self._is_named(module.path, function.name)
                or (function.name.startswith("__") and function.name.endswith("__"))
                or self._is_called_by_base(module, owner, function.name)
            )
        own = operators(module).get(function.name, ())
        if any(name.rpartition("::")[2] in self._attributes for name in own):
            return True
        if self._is_named(module.path, function.qualname):
            return True
        return not own and any(map(may_register, function.decorators))

    def _is_called_by_base(self, module: Module, owner: Class, name: str) -> bool:
        """Return whether a base class that is not part of the scan may call the method `name`."""
        for base in owner.bases:
            last = final_name(base.func if isinstance(base, Call) else base)
            if name in _CALLED_BY_BASE.get(last, ()):
                return True
            is_known = last in _CALLED_BY_BASE or last in module.classes or self._is_in_scan(module, last)
            if not is_known and not name.startswith("_"):
                return True
        return False

    def _is_in_scan(self, module: Module, name: str) -> bool:
        return self._project.names.locate(module.path, name) is not None

    def _is_named(self, path: str, qualname: str) -> bool:
        return (path, qualname) in self._named or qualname.rpartition(".")[2] in self._attributes

    def _use(self, module: Module, words: Iterable[tuple[bool, str]]) -> None:
        """Note the `words` that code of `module` uses; the first of a pair says whether it stands after a dot."""
        for is_attribute, word in set(words):
            if is_attribute:
                self._attributes.add(word)
            self._named.add((module.path, word))
            if word in module.imports or module.star_imports:
                place = self._project.names.locate(module.path, word)
                if place is not None:
                    self._named.add(place[:2])

    def _add(self, function: Function) -> None:
        self._functions[function.path, function.qualname] = function
        module = self._modules[function.path]
        if function.name == "<module>":
            # What a name is bound to counts when the name is used; calls are made at once.
            is_entry = function.path == self._entry
            sites = (site for site in function.calls if is_entry or not any(arm.is_main for arm in site.arms))
            self._use(module, _names(every_part(*(site.call for site in sites))))
        else:
            found = _WORD.findall(_PROSE.sub("", function.text.text))
            self._use(module, ((bool(dot), word) for dot, word in found))

    def _computed(self) -> Iterator[tuple[str, int, str]]:
        for (path, _), function in self._functions.items():
            imports = self._modules[path].imports
            for site in function.calls:
                called = final_name(site.call.func)
                if called not in _BY_COMPUTED_NAME or not site.call.args:
                    continue
                *owner, named = site.call.args[:2] if called == "getattr" else site.call.args[:1]
                # An attribute of an object is data more often than code; one of a module is code.
                is_of_module = all(isinstance(base, Name) and base.id in imports for base in owner)
                if is_of_module and not isinstance(named, Const):
                    yield path, site.line, f"`{called}` of a computed name"


def _names(parts: Iterable[Expr]) -> Iterator[tuple[bool, str]]:
    for part in parts:
        if isinstance(part, Name):
            yield False, part.id
        elif isinstance(part, Attr):
            yield True, part.name

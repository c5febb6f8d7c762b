"""Name resolution across the files of a project: modules, imports, re-exports.

A name is followed from module to module by the query `NAME`, so that the result depends only on the answers. Fetching
the definition itself depends on its whole file.
"""

from __future__ import annotations

import posixpath
import re
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.project.limits import MOST_NAMES
from triton_doctor.static.python.function import Function
from triton_doctor.static.python.ir import Attr, dotted
from triton_doctor.static.python.module import Class, Kernel, Module
from triton_doctor.static.sources.source_text import TextPattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.project.database.tracked_modules import TrackedModules
    from triton_doctor.static.python.module import Import


Definition: TypeAlias = Module | Kernel | Function | Class


class DefinitionKind(Enum):
    """The kinds of definitions that a name may refer to."""

    MODULE = "module"
    KERNEL = "kernel"
    FUNCTION = "function"
    CLASS = "class"


class DefinitionPlace(NamedTuple):
    """The location of a definition: `qualname` in the file at `path`, empty for the module itself."""

    path: str
    qualname: str
    kind: DefinitionKind


class NameMeaning(NamedTuple):
    """What a name is at the top level of one module: defined, assigned, or `imported`.

    If it is none of these, it may come from the star imports `stars`. `applied` is the class whose `apply` is assigned
    to it.
    """

    kind: DefinitionKind | None
    is_bound: bool
    imported: Import | None
    stars: tuple[Import, ...]
    applied: str | None = None


def read_meaning(module: Module, name: str) -> NameMeaning:
    """Return what `name` is at the top level of `module`."""
    kind: DefinitionKind | None
    if name in module.kernels_named:
        kind = DefinitionKind.KERNEL
    elif name in module.functions:
        kind = DefinitionKind.FUNCTION
    else:
        kind = DefinitionKind.CLASS if name in module.classes else None
    is_bound = name in module.top.bindings
    return NameMeaning(kind, is_bound, module.imports.get(name), module.star_imports, applied_class(module, name))


NAME = declare_query("name", read_meaning)
_NOTHING = NameMeaning(None, False, None, ())


class Resolver:
    """Resolves names in `modules`, which reads files on access."""

    def __init__(self, modules: TrackedModules) -> None:
        """Start with an empty cache."""
        self._modules = modules
        self._found: dict[tuple[str, str], DefinitionPlace | None] = {}
        self._files: dict[str, str | None] = {}
        self._folders: dict[str, str] = {}
        self._stars: dict[str, tuple[str, ...]] = {}
        self._imported_modules: dict[tuple[str, str, int], str | None] = {}

    def kernels(self, module: Module, qualname: str) -> Sequence[Kernel]:
        """Return the kernels of that qualified name: several if `if` chooses between definitions."""
        return module.kernels_named.get(qualname, ())

    def variants(self, kernel: Kernel) -> Sequence[Kernel]:
        """Return all definitions with the kernel's name and scope, including itself."""
        return self._modules[kernel.path].kernels_named[kernel.qualname.partition("#")[0]]

    def home(self, function: Function) -> Module:
        """Return the module that defines `function`."""
        return self._modules[function.path]

    def home_of_class(self, of: Class) -> Module:
        """Return the module that defines the class."""
        return self._modules[of.path]

    def defined(self, module: Module, name: str) -> Definition | None:
        """Return the definition of `name` at the top level of `module`: its own, imported or re-exported."""
        return self._definition(self._defined(module.path, name))

    def dotted(self, module: Module, name: str) -> Definition | None:
        """Return the definition of `a.b.c`, seen from the top level of `module`."""
        return self._definition(self.locate(module.path, name))

    def defining(self, module: Module, name: str) -> tuple[Module, str] | None:
        """Return the module at whose top level an imported `name` is assigned, and its name there."""
        path = module.path
        for _ in range(MOST_NAMES):
            meaning = self._meaning(path, name)
            imported = meaning.imported
            if imported is None:
                return (self._modules[path], name) if meaning.is_bound else None
            target = self._module(path, imported.module, imported.level)
            if target is None or imported.member is None:
                return None
            path, name = target, imported.member
        return None

    def modules_imported(self, path: str, imported: Import) -> tuple[str, ...]:
        """Return the modules that `imported` of the file at `path` may refer to: the one it names, or its member."""
        inner = ".".join(part for part in (imported.module, imported.member) if part)
        found = (self._module(path, imported.module, imported.level), self._module(path, inner, imported.level))
        return tuple(module for module in found if module is not None)

    def locate(self, path: str, name: str) -> DefinitionPlace | None:
        """Return the location of the definition of `a.b.c`, seen from the top level of the module at `path`."""
        key = (path, name)
        if key not in self._found:
            self._found[key] = None  # for a name that refers to itself: `scale = scale.apply`
            self._found[key] = self._dotted(path, name)
        return self._found[key]

    def applied(self, path: str, class_name: str) -> DefinitionPlace | None:
        """Return the location of what `apply` of a class runs, seen from the top level of the module at `path`."""
        owner = self.locate(path, class_name)
        if owner is None or owner.kind is not DefinitionKind.CLASS:
            return None
        forward = f"{owner.qualname}.forward"
        kind = self._meaning(owner.path, forward).kind
        return DefinitionPlace(owner.path, forward, kind) if kind is DefinitionKind.FUNCTION else None

    def _definition(self, found: DefinitionPlace | None) -> Definition | None:
        module = None if found is None else self._modules.get(found.path)
        if found is None or module is None:  # a module that does not parse still exists by name
            return None
        match found.kind:
            case DefinitionKind.MODULE:
                return module
            case DefinitionKind.KERNEL:
                return module.kernels_named[found.qualname][0]
            case DefinitionKind.FUNCTION:
                return module.functions[found.qualname]
            case DefinitionKind.CLASS:
                return module.classes[found.qualname]

    def _dotted(self, path: str, name: str) -> DefinitionPlace | None:
        first, *rest = name.split(".")
        found = self._defined(path, first)
        if found is None and rest:
            imported = self._meaning(path, first).imported
            if imported is not None and imported.member is None:
                return self._by_full_name(path, [*imported.module.split("."), *rest])
        for part in rest:
            if found is None or found.kind is not DefinitionKind.MODULE:
                return None
            found = self._defined(found.path, part) or self._submodule(found.path, part)
        return found

    def _submodule(self, package: str, name: str) -> DefinitionPlace | None:
        folder, _, file = package.rpartition("/")
        return _whole(self._file(posixpath.join(folder, name))) if file == "__init__.py" else None

    def _by_full_name(self, path: str, parts: list[str]) -> DefinitionPlace | None:
        """Resolve `a.b.c.kernel` after `import a.b.c`: the longest prefix that is a module, then a name in it."""
        for split in range(len(parts) - 1, 0, -1):
            found = self._module(path, ".".join(parts[:split]), level=0)
            if found is not None:
                return self.locate(found, ".".join(parts[split:]))
        return None

    def _defined(self, path: str, name: str) -> DefinitionPlace | None:
        return self._search(path, name, MOST_NAMES, {})

    def _search(self, path: str, name: str, hops: int, seen: dict[tuple[str, str], int]) -> DefinitionPlace | None:
        """Resolve `name` in the module at `path`, through at most `hops` imports.

        Star imports may reach a module on many paths. `seen` are the names, by module, that were searched for in vain
        or still are, with the number of imports allowed; none is searched for again with as few or fewer.
        """
        if seen.get((path, name), -1) >= hops:
            return None
        seen[path, name] = hops
        meaning = self._meaning(path, name)
        if meaning.kind is not None:
            return DefinitionPlace(path, name, meaning.kind)
        if meaning.applied is not None:
            return self.applied(path, meaning.applied)
        if hops == 0:
            return None
        if meaning.imported is not None:
            return self._imported(path, meaning.imported, hops, seen)
        for target in self._star_targets(path, meaning.stars):
            found = self._search(target, name, hops - 1, seen)
            if found is not None:
                return found
        return None

    def _star_targets(self, path: str, stars: Sequence[Import]) -> Sequence[str]:
        """Return the modules of the scan that the one at `path` star-imports, each once."""
        if path not in self._stars:
            found = (self._module(path, star.module, star.level) for star in dict.fromkeys(stars))
            self._stars[path] = tuple(dict.fromkeys(target for target in found if target is not None))
        return self._stars[path]

    def _imported(
        self, path: str, imported: Import, hops: int, seen: dict[tuple[str, str], int]
    ) -> DefinitionPlace | None:
        target = self._module(path, imported.module, imported.level)
        if imported.member is None:
            return _whole(target)
        if target is not None:
            found = self._search(target, imported.member, hops - 1, seen)
            if found is not None:
                return found
        inner = f"{imported.module}.{imported.member}" if imported.module else imported.member
        return _whole(self._module(path, inner, imported.level))

    def _module(self, importer: str, name: str, level: int) -> str | None:
        """Return the file that `importer` means by `name` with `level` leading dots; None if it is not in the scan."""
        folder = self._folders.get(importer)
        if folder is None:
            folder = self._folders[importer] = posixpath.dirname(importer)
        key = (folder, name, level)
        if key not in self._imported_modules:
            self._imported_modules[key] = self._find_module(*key)
        return self._imported_modules[key]

    def _find_module(self, folder: str, name: str, level: int) -> str | None:
        relative = name.replace(".", "/")
        if level:
            for _ in range(level - 1):
                folder = posixpath.dirname(folder)
            return self._file(posixpath.join(folder, relative) if relative else folder)
        root = folder
        while True:
            found = self._file(posixpath.join(root, relative))
            if found is not None:
                return found
            if not root or root == "/":
                return self._installed(relative)
            root = posixpath.dirname(root)

    def _installed(self, relative: str) -> str | None:
        """Return the one file of that name in the packages that the project installs from its folders."""
        inside = relative if "/" in relative else f"{relative}/__init__"
        stems = (posixpath.join(root, inside) for root in self._modules.source_roots())
        found = [path for path in map(self._file, stems) if path is not None]
        return found[0] if len(found) == 1 else None

    def _file(self, stem: str) -> str | None:
        if stem not in self._files:
            paths = (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py")
            self._files[stem] = next((path for path in paths if path in self._modules), None)
        return self._files[stem]

    def _meaning(self, path: str, name: str) -> NameMeaning:
        return self._modules.query(NAME, path, name) or _NOTHING


def _whole(path: str | None) -> DefinitionPlace | None:
    return DefinitionPlace(path, "", DefinitionKind.MODULE) if path is not None else None


# Between the class, the dot and `apply`: whitespace, comments, and closing parentheses.
_BETWEEN = rb"(?:[\s\\)]|#[^\n]*\n)*"
_BEFORE = re.compile(rb"(?<![A-Za-z0-9_])")
_APPLY = re.compile(_BETWEEN + rb"\." + _BETWEEN + rb"apply(?![A-Za-z0-9_])")


def is_applied(function: Function) -> bool:
    """Return whether `function` is the `forward` of a class, which autograd runs for `apply`."""
    return function.class_name is not None and function.name == "forward"


def applied_class(module: Module, name: str) -> str | None:
    """Return the class, as written, if the only binding of `name` at the top level of `module` is `apply` of it."""
    bindings = module.top.bindings.get(name, ())
    if len(bindings) != 1:
        return None
    value = bindings[0].value
    return dotted(value.base) if isinstance(value, Attr) and value.name == "apply" else None


def read_applied_names(module: Module, class_name: str) -> tuple[str, ...]:
    """Return the top-level names of `module` bound to `apply` of a class with the last name `class_name`."""
    found = ((name, applied_class(module, name)) for name in module.top.bindings)
    return tuple(name for name, owner in found if owner is not None and owner.rpartition(".")[2] == class_name)


@cached_in_scan()
def apply_pattern(class_name: str) -> TextPattern:
    """Return a pattern that matches every `apply` of the class."""
    return TextPattern(class_name, _BEFORE, _APPLY)


APPLIED_NAMES = declare_query("applied names", read_applied_names, apply_pattern)

"""Names to what they stand for, across the files of a project: modules, imports, re-exports.

A name is followed from module to module by what each says to `NAME`, so that to find out which definition it is depends
on these few words of each. Who takes the definition itself has read its file.
"""

from __future__ import annotations

import posixpath
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.project.limits import MOST_NAMES
from triton_doctor.static.project.names.applied_names import applied_class
from triton_doctor.static.python.function import Function
from triton_doctor.static.python.module import Class, Kernel, Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.project.database.tracked_modules import TrackedModules
    from triton_doctor.static.python.module import Import

Definition: TypeAlias = Module | Kernel | Function | Class


class DefinitionKind(Enum):
    """What a name may stand for."""

    MODULE = "module"
    KERNEL = "kernel"
    FUNCTION = "function"
    CLASS = "class"


class DefinitionPlace(NamedTuple):
    """Where a definition is: `qualname` of the file at `path`, empty for the module itself."""

    path: str
    qualname: str
    kind: DefinitionKind


class NameMeaning(NamedTuple):
    """What a name is at the top level of one module: defined there, assigned, or `imported`.

    `stars` are the modules of which it may be taken where it is none of these. `applied` is the class whose `apply` is
    assigned to it.
    """

    kind: DefinitionKind | None
    is_bound: bool
    imported: Import | None
    stars: tuple[Import, ...]
    applied: str | None = None


def read_meaning(module: Module, name: str) -> NameMeaning:
    """What `name` is at the top level of `module`."""
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
    """Looks names up in `modules`, which reads a file of the scan when it is asked for."""

    def __init__(self, modules: TrackedModules) -> None:
        """Nothing is looked up yet."""
        self._modules = modules
        self._found: dict[tuple[str, str], DefinitionPlace | None] = {}
        self._files: dict[str, str | None] = {}
        self._folders: dict[str, str] = {}
        self._stars: dict[str, tuple[str, ...]] = {}
        self._imported_modules: dict[tuple[str, str, int], str | None] = {}

    def kernels(self, module: Module, qualname: str) -> Sequence[Kernel]:
        """The kernels of that qualified name: several where `if` chooses between definitions."""
        return module.kernels_named.get(qualname, ())

    def variants(self, kernel: Kernel) -> Sequence[Kernel]:
        """All definitions that share the kernel's name and scope, itself among them."""
        return self._modules[kernel.path].kernels_named[kernel.qualname.partition("#")[0]]

    def home(self, function: Function) -> Module:
        """The module that `function` was read from."""
        return self._modules[function.path]

    def home_of_class(self, of: Class) -> Module:
        """The module that the class was read from."""
        return self._modules[of.path]

    def defined(self, module: Module, name: str) -> Definition | None:
        """What `name` is at the top level of `module`: its own, imported or re-exported."""
        return self._definition(self._defined(module.path, name))

    def dotted(self, module: Module, name: str) -> Definition | None:
        """What `a.b.c` is, seen from the top level of `module`."""
        return self._definition(self.locate(module.path, name))

    def defining(self, module: Module, name: str) -> tuple[Module, str] | None:
        """The module at whose top level an imported `name` is assigned, and its name there."""
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
        """The modules that `imported` of the file at `path` may be of: the one it names, and the one its member is."""
        inner = ".".join(part for part in (imported.module, imported.member) if part)
        found = (self._module(path, imported.module, imported.level), self._module(path, inner, imported.level))
        return tuple(one for one in found if one is not None)

    def locate(self, path: str, name: str) -> DefinitionPlace | None:
        """Where `a.b.c` is defined, seen from the top level of the module at `path`."""
        key = (path, name)
        if key not in self._found:
            self._found[key] = None  # for a name that leads to itself: `scale = scale.apply`
            self._found[key] = self._dotted(path, name)
        return self._found[key]

    def applied(self, path: str, class_name: str) -> DefinitionPlace | None:
        """Where the function is that `apply` of a class runs, seen from the top level of the module at `path`."""
        owner = self.locate(path, class_name)
        if owner is None or owner.kind is not DefinitionKind.CLASS:
            return None
        forward = f"{owner.qualname}.forward"
        kind = self._meaning(owner.path, forward).kind
        return DefinitionPlace(owner.path, forward, kind) if kind is DefinitionKind.FUNCTION else None

    def _definition(self, found: DefinitionPlace | None) -> Definition | None:
        module = None if found is None else self._modules.get(found.path)
        if found is None or module is None:  # a module whose text does not parse is found by its name all the same
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
        """`import a.b.c` and then `a.b.c.kernel`: the longest run of parts that is a module, then a name of it."""
        for split in range(len(parts) - 1, 0, -1):
            found = self._module(path, ".".join(parts[:split]), level=0)
            if found is not None:
                return self.locate(found, ".".join(parts[split:]))
        return None

    def _defined(self, path: str, name: str) -> DefinitionPlace | None:
        return self._search(path, name, MOST_NAMES, {})

    def _search(self, path: str, name: str, hops: int, seen: dict[tuple[str, str], int]) -> DefinitionPlace | None:
        """Look for `name` in the module at `path`, and through at most `hops` imports.

        Star imports lead to one module along any number of paths. `seen` are the names that were looked for in vain, or
        still are, by module, and through how many imports: none is looked for again through as many, or fewer.
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
        """The modules of the scan from which the one at `path` imports all, each once."""
        if path not in self._stars:
            found = (self._module(path, star.module, star.level) for star in dict.fromkeys(stars))
            self._stars[path] = tuple(dict.fromkeys(one for one in found if one is not None))
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
        """The file that the one at `importer` means by `name`, with `level` leading dots; None if not of the scan."""
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
            if found is not None or not root or root == "/":
                return found
            root = posixpath.dirname(root)

    def _file(self, stem: str) -> str | None:
        if stem not in self._files:
            paths = (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py")
            self._files[stem] = next((path for path in paths if path in self._modules), None)
        return self._files[stem]

    def _meaning(self, path: str, name: str) -> NameMeaning:
        return self._modules.ask(NAME, path, name) or _NOTHING


def _whole(path: str | None) -> DefinitionPlace | None:
    return DefinitionPlace(path, "", DefinitionKind.MODULE) if path is not None else None

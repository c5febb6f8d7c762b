"""Names to what they stand for, across the files of a project: modules, imports, re-exports."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, TypeAlias

from triton_doctor.static.project.dependencies import ModuleQuery, query
from triton_doctor.static.python.function import Function
from triton_doctor.static.python.module import Class, Kernel, Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.project.tracked_modules import TrackedModules
    from triton_doctor.static.python.module import Import

Definition: TypeAlias = Module | Kernel | Function | Class

# A re-export passes through a few `__init__` files, not through dozens.
_MOST_HOPS = 8


class Resolver:
    """Looks names up in `modules`, which reads a file of the scan when it is asked for."""

    def __init__(self, modules: TrackedModules) -> None:
        """Nothing is looked up yet."""
        self._modules = modules
        self._found: dict[tuple[str, str], Definition | None] = {}
        self._files: dict[str, Module | None] = {}
        self._stars: dict[str, tuple[Module, ...]] = {}
        self._imported_modules: dict[tuple[str, str, int], Module | None] = {}

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
        return self._consulted(self._defined(module, name))

    def defining(self, module: Module, name: str) -> tuple[Module, str] | None:
        """The module at whose top level an imported `name` is assigned, and its name there."""
        for _ in range(_MOST_HOPS):
            self._ask(module, name)
            imported = module.imports.get(name)
            if imported is None:
                if not _is_bound(module, name):
                    return None
                self._modules.consult(module.path)
                return module, name
            target = self._module(module, imported.module, imported.level)
            if target is None or imported.member is None:
                return None
            module, name = target, imported.member
        return None

    def imported_from(self, module: Module, imported: Import) -> Module | None:
        """The module that `imported` of `module` names before its member; None if it is not of the scan."""
        return self._module(module, imported.module, imported.level)

    def imported_member(self, module: Module, imported: Import) -> Module | None:
        """The module that the member of `imported` is; None if it is none of the scan's."""
        inner = ".".join(part for part in (imported.module, imported.member) if part)
        return self._module(module, inner, imported.level)

    def dotted(self, module: Module, name: str) -> Definition | None:
        """What `a.b.c` is, seen from the top level of `module`."""
        return self._consulted(self.glimpse(module, name))

    def glimpse(self, module: Module, name: str) -> Definition | None:
        """As `dotted`, for those who want to know which it is, and no more."""
        key = (module.path, name)
        if key not in self._found:
            self._found[key] = self._dotted(module, name)
        return self._found[key]

    def _dotted(self, module: Module, name: str) -> Definition | None:
        first, *rest = name.split(".")
        found = self._defined(module, first)
        if found is None and rest:
            imported = module.imports.get(first)
            if imported is not None and imported.member is None:
                return self._by_full_name(module, [*imported.module.split("."), *rest])
        for part in rest:
            match found:
                case Module():
                    found = self._defined(found, part) or self._submodule(found, part)
                case _:
                    return None
        return found

    def _submodule(self, package: Module, name: str) -> Module | None:
        folder, _, file = package.path.rpartition("/")
        return self._file(posixpath.join(folder, name)) if file == "__init__.py" else None

    def _by_full_name(self, module: Module, parts: list[str]) -> Definition | None:
        """`import a.b.c` and then `a.b.c.kernel`: the longest run of parts that is a module, then a name of it."""
        for split in range(len(parts) - 1, 0, -1):
            found = self._module(module, ".".join(parts[:split]), level=0)
            if found is not None:
                return self.glimpse(found, ".".join(parts[split:]))
        return None

    def _defined(self, module: Module, name: str) -> Definition | None:
        return self._search(module, name, _MOST_HOPS, {})

    def _search(self, module: Module, name: str, hops: int, seen: dict[tuple[str, str], int]) -> Definition | None:
        """Look for `name` in `module`, and through at most `hops` imports.

        Star imports lead to one module along any number of paths. `seen` are the names that were looked for in vain, or
        still are, by module, and through how many imports: none is looked for again through as many, or fewer.
        """
        if seen.get((module.path, name), -1) >= hops:
            return None
        seen[module.path, name] = hops
        self._ask(module, name)
        kernels = self.kernels(module, name)
        own = kernels[0] if kernels else module.functions.get(name) or module.classes.get(name)
        if own is not None:
            return own
        if hops == 0:
            return None
        imported = module.imports.get(name)
        if imported is not None:
            return self._imported(module, imported, hops, seen)
        for target in self._star_targets(module):
            found = self._search(target, name, hops - 1, seen)
            if found is not None:
                return found
        return None

    def _star_targets(self, module: Module) -> Sequence[Module]:
        """The modules of the scan from which `module` imports all, each once."""
        if module.path not in self._stars:
            found = (self._module(module, star.module, star.level) for star in dict.fromkeys(module.star_imports))
            self._stars[module.path] = tuple({one.path: one for one in found if one is not None}.values())
        return self._stars[module.path]

    def _imported(
        self, module: Module, imported: Import, hops: int, seen: dict[tuple[str, str], int]
    ) -> Definition | None:
        target = self._module(module, imported.module, imported.level)
        if imported.member is None:
            return target
        if target is not None:
            found = self._search(target, imported.member, hops - 1, seen)
            if found is not None:
                return found
        inner = f"{imported.module}.{imported.member}" if imported.module else imported.member
        return self._module(module, inner, imported.level)

    def _module(self, importer: Module, name: str, level: int) -> Module | None:
        """The module that `importer` means by `name`, with `level` leading dots; None if it is not of the scan."""
        folder = posixpath.dirname(importer.path)
        key = (folder, name, level)
        if key not in self._imported_modules:
            self._imported_modules[key] = self._find_module(*key)
        return self._imported_modules[key]

    def _find_module(self, folder: str, name: str, level: int) -> Module | None:
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

    def _file(self, stem: str) -> Module | None:
        if stem not in self._files:
            paths = (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py")
            found = (self._modules.glimpse(path) for path in paths)
            self._files[stem] = next((module for module in found if module is not None), None)
        return self._files[stem]

    def _ask(self, module: Module, name: str) -> None:
        self._modules.ask(module.path, ModuleQuery("name", name))

    def _consulted(self, found: Definition | None) -> Definition | None:
        if found is not None:
            self._modules.consult(found.path)
        return found


@query("name")
def describe_name(module: Module, name: str) -> object:
    """What a search that comes to `name` at the top level of `module` learns there."""
    own = name in module.kernels_named, name in module.functions, name in module.classes, _is_bound(module, name)
    passed_on = module.imports.get(name), module.star_imports
    return (own, passed_on) if any(own) or any(passed_on) else ()


def _is_bound(module: Module, name: str) -> bool:
    top = module.functions.get("<module>")
    return top is not None and name in top.bindings

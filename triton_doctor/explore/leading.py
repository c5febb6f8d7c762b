"""Which functions, methods and classes of a project lead to a launch, through the names that their code uses.

In: a project with its launches. Out: a graph of definitions, from each launch back to everything that uses it by name:
calls, values kept in tables and attributes, methods found through `self`, annotations and base classes, and operators.

A **place** is (path, qualified name) of a function, a method, a class, or a name or attribute that a value is given to.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from triton_doctor.static.project.calls.call_graph import name_in_module
from triton_doctor.static.project.calls.operators import operators
from triton_doctor.static.project.calls.reachability import outermost
from triton_doctor.static.project.names.resolver import DefinitionKind
from triton_doctor.static.python.ir import Attr, Call, Name, dotted, every_part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel, Module

Place: TypeAlias = tuple[str, str]

# Methods of tensors, containers and modules: `x.view(...)` of an unknown object says nothing of a method of that name.
_COMMON_METHODS = frozenset(dir(list) + dir(dict) + dir(set) + dir(str) + dir(int)) | frozenset(
    "apply backward cuda cpu double float forward half mean norm reshape run shape size step to view".split()
)


class LaunchGraph:
    """Everything in `project` that leads to a launch: `leading` holds the places, `uses` what each of them uses.

    `named` has the functions and methods among them by the names that a user calls them by.
    """

    def __init__(self, project: Project, named: Collection[str] | None = None) -> None:
        """Read every module, tests only if they are `named`, and follow names from the functions with launches."""
        self.project = project
        self.modules: dict[str, Module] = {}
        for path in project.modules:
            is_read = path.endswith(".py") and (path not in project.tests or named is None or path in named)
            module = project.modules.get(path) if is_read else None
            if module is not None:
                self.modules[path] = module
        self.functions: dict[Place, Function] = {}
        self._inner: defaultdict[Place, list[Function]] = defaultdict(list)
        self._values: defaultdict[Place, list[tuple[Function, Expr]]] = defaultdict(list)
        self.bases: dict[Place, tuple[Place, ...]] = {}
        self._derived: defaultdict[Place, list[Place]] = defaultdict(list)
        self._methods: defaultdict[str, list[Place]] = defaultdict(list)
        self._names_of_members: defaultdict[Place, set[str]] = defaultdict(set)
        self._operators: dict[str, Place] = {}
        self._uses: dict[Place, frozenset[Place]] = {}
        for path, module in self.modules.items():
            self._add(path, module)
        for place, own in self.bases.items():
            for base in own:
                self._derived[base].append(place)
        self.launches: defaultdict[Place, list[Kernel]] = defaultdict(list)
        for launch in project.launches:
            if launch.module.path not in self.modules:
                continue
            function = outermost(launch.module, launch.function)
            self.launches[launch.module.path, function.qualname] += launch.kernels
        self.leading = self._follow()
        # Of definitions of one name, the last that leads to a launch.
        self.named = {
            (place[0], name_in_module(function)): place
            for place, function in self.functions.items()
            if place in self.leading
        }

    def line(self, place: Place) -> int:
        """Return the line of the definition at `place`."""
        function = self.functions.get(place)
        if function is not None:
            return function.line
        path, qualname = place
        name = re.escape(qualname.rpartition(".")[2]).encode()
        found = re.search(rb"^[ \t]*class[ \t]+" + name + rb"\b", self.project.modules.source(path), re.MULTILINE)
        return self.project.modules.source(path).count(b"\n", 0, found.start()) + 1 if found is not None else 1

    def ancestry(self, place: Place) -> Iterator[Place]:
        """Yield the class at `place` and its bases in the project, nearest first."""
        pending, seen = [place], set[Place]()
        while pending:
            at = pending.pop(0)
            if at not in seen:
                seen.add(at)
                yield at
                pending += self.bases.get(at, ())

    def method(self, of: Place, name: str) -> Place | None:
        """Return the method `name` of the class at `of`, its own or inherited."""
        found = ((path, f"{qualname}.{name}") for path, qualname in self.ancestry(of))
        return next((place for place in found if place in self.functions), None)

    def uses(self, place: Place) -> frozenset[Place]:
        """Return the places that the code at `place` uses by name."""
        if place not in self._uses:
            self._uses[place] = frozenset()  # for what uses itself
            self._uses[place] = frozenset(use for use in self._read_uses(place) if use[0] in self.modules)
        return self._uses[place]

    def kernels(self, place: Place) -> tuple[Kernel, ...]:
        """Return the kernels that the code at `place` may launch, directly or through others, each once."""
        places = self.closure(place)
        found = {kernel.key: kernel for item in places for kernel in self.launches.get(item, ())}
        return tuple(found[key] for key in sorted(found))

    def closure(self, place: Place) -> set[Place]:
        """Return everything that the code at `place` leads to on the way to launches, and the constructors of it."""
        pending, seen = [place], {place}
        while pending:
            at = pending.pop()
            owner = self._owner(at) or at
            made = self.method(owner, "__init__") if owner[1] in self.modules[owner[0]].classes else None
            new = {*(self.uses(at) & self.leading), *([made] if made is not None else ())} - seen
            seen |= new
            pending += new
        return seen

    def classes_with(self, members: Collection[str]) -> list[Place]:
        """Return the classes whose objects have all of `members`, those with the fewest others first."""
        wanted = set(members)
        having = {
            of: everything
            for of in self.bases
            if wanted
            <= (everything := set[str]().union(*(self._names_of_members.get(item, ()) for item in self.ancestry(of))))
        }
        return sorted(having, key=lambda of: (len(having[of]), of))

    def callees(self, place: Place, function: Function, func: Expr) -> Iterator[Place]:
        """Yield the functions that calling `func`, in `function` of the code at `place`, may run."""
        for found in self._resolve(place[0], place, function, func):
            if found in self.functions:
                yield found
            elif found[0] in self.modules and found[1] in self.modules[found[0]].classes:
                entered = "forward" if isinstance(func, Attr) and func.name == "apply" else "__init__"
                method = self.method(found, entered)
                if method is not None:
                    yield method

    def expressions(self, place: Place) -> Iterator[tuple[Function, Expr]]:
        """Yield the values, calls and results in the code at `place`, each with the function that contains it."""
        for function in self._inner.get(place, ()):
            for bindings in function.bindings.values():
                yield from ((function, binding.value) for binding in bindings)
            yield from ((function, item.value) for item in function.stored)
            yield from ((function, each.value) for each in function.returns)
            yield from ((function, site.call) for site in function.calls)

    def _add(self, path: str, module: Module) -> None:
        for name, function in module.functions.items():
            if name == "<module>":
                continue
            outer = outermost(module, function)
            place = (path, outer.qualname)
            self._inner[place].append(function)
            if function is outer:
                self.functions[place] = function
                if function.class_name is not None:
                    self._methods[function.name].append(place)
                    self._names_of_members[path, function.class_name].add(function.name)
            if function.class_name is not None:
                for stored in function.stored:
                    if stored.base in ("self", "cls"):
                        self._keep((path, f"{function.class_name}.{stored.name}"), function, stored.value)
        for name, bindings in module.top.bindings.items():
            for binding in bindings:
                self._keep((path, name), module.top, binding.value)
        for stored in module.top.stored:
            self._keep((path, stored.base), module.top, stored.value)
        for qualname, of in module.classes.items():
            self._names_of_members[path, qualname].update(of.declared)
            for name, field in of.fields.items():
                self._keep((path, f"{qualname}.{name}"), module.top, field.value)
            located = (self.project.names.locate(path, dotted(base) or "?") for base in of.bases)
            self.bases[path, qualname] = tuple(
                (found.path, found.qualname)
                for found in located
                if found is not None and found.kind is DefinitionKind.CLASS and found.path in self.modules
            )
        for name, names in operators(module).items():
            self._operators |= dict.fromkeys((operator.rpartition("::")[2] for operator in names), (path, name))

    def _keep(self, place: Place, function: Function, value: Expr) -> None:
        owner = self._owner(place)
        if owner is not None:
            self._names_of_members[owner].add(place[1].rpartition(".")[2])
        if place[1] in self.modules[place[0]].functions:
            return
        self._values[place].append((function, value))

    def _follow(self) -> frozenset[Place]:
        """Return the places from which names lead to a launch."""
        used_by = defaultdict[Place, set[Place]](set)
        for place in (*self.functions, *self.bases, *self._values):
            for use in self.uses(place):
                used_by[use].add(place)
        leading, pending = set(self.launches), list(self.launches)
        while pending:
            place = pending.pop()
            owner = self._owner(place)
            new = {*used_by[place], *([] if owner is None else [owner])} - leading
            leading |= new
            pending += new
        return frozenset(leading)

    def _owner(self, place: Place) -> Place | None:
        path, qualname = place
        owner = qualname.rpartition(".")[0]
        return (path, owner) if owner in self.modules[path].classes else None

    def _read_uses(self, place: Place) -> Iterator[Place]:
        path, qualname = place
        if qualname in self.modules[path].classes:
            for function in self.modules[path].functions.values():
                if function.class_name == qualname:
                    yield path, function.qualname
            yield from self.bases.get(place, ())
            return
        for function, expr in (*self.expressions(place), *self._values.get(place, ())):
            for part in every_part(expr):
                yield from self._resolve(path, place, function, part)

    def _resolve(self, path: str, place: Place, function: Function, expr: Expr) -> Iterator[Place]:
        """Yield the places that the name `expr`, in `function` of the code at `place`, may refer to."""
        owner, name = self._owner(place), dotted(expr)
        match expr:
            case Attr(Call(Name("super")), member) if owner is not None:
                yield from self._members(self.bases.get(owner, ()), member)
            case Attr(_, member) if name is None:
                yield from self._only_method(member)
            case _:
                pass
        if name is None:
            return
        first, *rest = name.split(".")
        if first in ("self", "cls") and owner is not None:
            if rest:
                family = [*self.ancestry(owner), *self._derived.get(owner, ())]
                yield from self._members(family, rest[0])
            if len(rest) > 1:
                yield from self._only_method(rest[-1])
            return
        param = function.param(first)
        if param is not None or (function.name != "<module>" and first in function.bindings):
            if rest:
                of = self.project.names.locate(path, param.annotation) if param and param.annotation else None
                if of is not None and of.kind is DefinitionKind.CLASS:
                    yield from self._members([*self.ancestry((of.path, of.qualname))], rest[0])
                else:
                    yield from self._only_method(rest[-1])
            return
        yield from self._named(path, name)

    def _named(self, path: str, name: str) -> Iterator[Place]:
        first, *rest = name.split(".")
        if first == "torch" and rest[:1] == ["ops"]:
            for part in rest[1:]:
                if part in self._operators:
                    yield self._operators[part]
            return
        for end in range(len(rest), -1, -1):
            found = self.project.names.locate(path, ".".join([first, *rest[:end]]))
            if found is None or found.kind is DefinitionKind.MODULE or found.path not in self.modules:
                continue
            if found.kind is DefinitionKind.CLASS:
                if end == len(rest) or not rest[end].startswith("__"):  # `Rope.__name__` runs nothing
                    yield found.path, found.qualname
                if end < len(rest):
                    yield from self._members([*self.ancestry((found.path, found.qualname))], rest[end])
            else:
                yield found.path, found.qualname
                owner = self._owner((found.path, found.qualname))
                if owner is not None:
                    yield owner
            return
        module = self.modules[path]
        assigned = self.project.names.defining(module, first)
        if assigned is not None:
            yield assigned[0].path, assigned[1]
        elif len(rest) == 1 and (found := self.project.names.locate(path, first)) is not None:
            yield found.path, rest[0]
        elif rest and first not in module.imports:
            yield from self._only_method(rest[-1])

    def _members(self, classes: Iterable[Place], name: str) -> Iterator[Place]:
        for path, qualname in classes:
            yield path, f"{qualname}.{name}"

    def _only_method(self, name: str) -> Iterator[Place]:
        """Yield the method called `name`, if the project has only one and objects of Python and torch have none."""
        found = self._methods.get(name, ())
        if len(found) == 1 and name not in _COMMON_METHODS and not name.startswith("__"):
            yield found[0]

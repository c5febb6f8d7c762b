"""Attributes, table entries and results of calls to the expressions that the program sets them to."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.calls.called_names import Caller
from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.python.function import Function
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Conditional,
    Const,
    Name,
    Star,
    Subscript,
    TupleExpr,
    Unpacked,
    dotted,
    final_name,
)
from triton_doctor.static.python.module import Class
from triton_doctor.static.variability.interpreter.attributes import MAKING
from triton_doctor.static.variability.queries.parameter_uses import entries_of
from triton_doctor.static.variability.values.values import Instance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import BranchArm, Stored
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.variability.values.values import Value

# Functions that copy an object, with other values of the fields that are passed by name.
_COPYING = frozenset({"replace", "_replace", "evolve"})
# They call what they are given with the arguments that they are given.
_PASSING = frozenset({"partial", "partialmethod", "wraps", "update_wrapper", "compile"})
# What is set in more places is not followed.
MOST_PLACES = 64


class SetPlace(NamedTuple):
    """An expression in `function` of `module`, at the event `order` inside `arms`."""

    expr: Expr
    module: Module
    function: Function
    order: int
    arms: tuple[BranchArm, ...] = ()


class SetValues:
    """What `functions`, those that a program comes to, set."""

    def __init__(self, project: Project, functions: Iterable[Function]) -> None:
        self._project = project
        self._made: defaultdict[Class, list[Caller]] = defaultdict(list)
        self._copied: defaultdict[str, list[SetPlace]] = defaultdict(list)
        self._stored: defaultdict[str, list[tuple[Function, Stored]]] = defaultdict(list)
        # Functions that are passed to a call, which may call them.
        self._handed: set[Function] = set()
        every = [*functions]
        modules = {function.path: project.names.home(function) for function in every}
        self._classes = [of for module in modules.values() for of in module.classes.values()]
        names = {of.name for of in self._classes}
        self._names = {function.name for module in modules.values() for function in module.functions.values()}
        for function in every:
            module = modules[function.path]
            for stored in function.stored:
                self._stored[stored.name].append((function, stored))
            for site in function.calls:
                if final_name(site.call.func) not in _PASSING:
                    self._handed |= {*self._functions_in(site.call, module)}
                name, path = final_name(site.call.func), dotted(site.call.func)
                if name in _COPYING:
                    for field, value in site.call.keywords:
                        if field is not None:
                            self._copied[field].append(SetPlace(value, module, function, site.order, site.arms))
                elif name in names and path is not None:
                    found = project.names.dotted(module, path)
                    if isinstance(found, Class):
                        self._made[found].append(Caller(module, function, site))

    def _functions_in(self, call: Call, module: Module) -> Iterator[Function]:
        """Yield the functions of the project that `call` passes on."""
        for expr in (*call.args, *(value for _, value in call.keywords)):
            if isinstance(expr, Attr) and expr.base == Name("self"):
                yield from (
                    method for method in module.functions.values() if method.class_name and method.name == expr.name
                )
            elif (
                isinstance(expr, Name | Attr) and final_name(expr) in self._names and (path := dotted(expr)) is not None
            ):
                found = self._project.names.dotted(module, path)
                yield from [found] if isinstance(found, Function) else []

    def is_handed(self, function: Function) -> bool:
        """Return whether code that is not followed may call `function`, with arguments of its own."""
        home = self._project.names.home(function)
        paths = (
            dotted(decorator.func if isinstance(decorator, Call) else decorator) for decorator in function.decorators
        )
        decorators = (self._project.names.dotted(home, path) for path in paths if path is not None)
        return function in self._handed or any(
            isinstance(decorator, Function) and self._passes_own(decorator) for decorator in decorators
        )

    def _passes_own(self, decorator: Function) -> bool:
        """Return whether what `decorator` returns calls the function with other arguments than it was given."""
        inner = self._project.names.home(decorator).functions.items()
        names = {param.name for param in decorator.params}
        return any(
            isinstance(site.call.func, Name)
            and site.call.func.id in names
            and not (all(isinstance(arg, Star) for arg in site.call.args) and not any(n for n, _ in site.call.keywords))
            for qualname, function in inner
            if qualname.startswith(f"{decorator.qualname}.<locals>.")
            for site in function.calls
        )

    def find(self, expr: Expr, base: Value, module: Module, function: Function) -> Sequence[SetPlace]:
        """Return what `expr` of `function` may be set to, where `base` is the value of its object; () if not known."""
        match expr:
            case Name(name):
                places = [*self._of_global(module, name)]
            case Attr(owner, name):
                places = [*self._of_attribute(base, name)] or [*self._of_owner(module, function, owner, name)]
            case Subscript(Name(table), Const(str(name))):
                found = [(own, stored) for own, stored in self._stored[name] if stored.base == table]
                is_local = table in function.bindings or function.param(table) is not None
                places = [
                    self._place(own, stored) for own, stored in found if own.path == function.path and not is_local
                ]
                if places:
                    places += self._written(module, table, name)
            case Call(Attr(_, name)) if isinstance(base, Instance):
                methods = (self._method(of, name) for of in self._owners(base.of))
                places = [place for method in methods if method is not None for place in self._results(method)]
            case Call(func, _, _):
                places = [*self._returned(module, func)]
            case Unpacked(Call(func, _, _), int(position), size, False):
                returned = [*self._returned(module, func)]
                tuples = [(place, place.expr) for place in returned]
                places = [
                    place._replace(expr=items.items[position])
                    for place, items in tuples
                    if isinstance(items, TupleExpr) and len(items.items) == size
                ]
                places = places if len(places) == len(returned) else []
            case _:
                places = []
        return places if len(places) <= MOST_PLACES else []

    def _place(self, function: Function, stored: Stored) -> SetPlace:
        return SetPlace(stored.value, self._project.names.home(function), function, stored.order, stored.arms)

    def _of_global(self, module: Module, name: str) -> Iterator[SetPlace]:
        """Yield what functions set the global `name` to, and what it is at first; nothing if none sets it."""
        home, name = self._project.names.defining(module, name) or (module, name)
        functions = [function for function in home.functions.values() if name in function.globals]
        stores = [store for store in self._stored[name] if self._names_module(*store, home)]
        if not functions and not stores:
            return
        for function in (home.top, *functions):
            for binding in function.bindings.get(name, ()):
                yield SetPlace(binding.value, home, function, binding.order, binding.arms)
        yield from (self._place(*store) for store in stores)

    def _names_module(self, function: Function, stored: Stored, module: Module) -> bool:
        """Return whether `stored` sets an attribute of an imported module with the name of `module`."""
        home = self._project.names.home(function)
        imported = home.imports.get(stored.base)
        return imported is not None and module.path in self._project.names.modules_imported(home.path, imported)

    def _of_owner(self, module: Module, function: Function, owner: Expr, name: str) -> Iterator[SetPlace]:
        """Yield what is set as `name` of the global `owner`: a module, or a function with attributes."""
        if not isinstance(owner, Name) or owner.id in function.bindings or function.param(owner.id) is not None:
            return
        imported = module.imports.get(owner.id)
        for path in self._project.names.modules_imported(module.path, imported) if imported is not None else ():
            if path in self._project.modules:
                yield from self._of_global(self._project.modules[path], name)
        for other, stored in self._stored[name]:
            if imported is None and stored.base == owner.id and other.path == function.path:
                yield self._place(other, stored)

    def _written(self, module: Module, table: str, name: str) -> Iterator[SetPlace]:
        """Yield the entry `name` of the displays that are assigned to the global `table`."""
        for binding in module.top.bindings.get(table, ()):
            if (value := entries_of(binding.value).get(name)) is not None:
                yield SetPlace(value, module, module.top, binding.order, binding.arms)

    def _returned(self, module: Module, func: Expr) -> Iterator[SetPlace]:
        path = dotted(func)
        found = self._project.names.dotted(module, path) if path is not None else None
        if isinstance(found, Function):
            yield from self._results(found)

    def _results(self, function: Function) -> Iterator[SetPlace]:
        home = self._project.names.home(function)
        for returned in function.returns:
            match returned.value:
                case Conditional(test, options) if test is not None:
                    values = options
                case value:
                    values = (value,)
            yield from (SetPlace(value, home, function, returned.order, returned.arms) for value in values)

    def _of_attribute(self, base: Value, name: str) -> Iterator[SetPlace]:
        """Yield what sets `name` of an object; one whose class is not known may be of any that has it and is made."""
        owner = base.of if isinstance(base, Instance) else None
        if owner is not None:
            owners = self._owners(owner)
        else:
            owners = [of for of in self._made if name in of.declared or self._has(of, name)]
        for of in owners:
            if (method := self._method(of, name)) is not None:
                yield from self._results(method)
                continue
            yield from self._as_made(of, name)
            yield from (self._place(*store) for store in self._stores(of, name) if store[0].name not in MAKING)
        for function, stored in self._stored[name] if owners else ():
            top = self._project.names.home(function).top
            made = (binding.value for binding in top.bindings.get(stored.base, ()))
            is_owned = any(
                isinstance(call, Call) and final_name(call.func) in {of.name for of in owners} for call in made
            )
            if is_owned or (owner is None and stored.base not in ("self", "cls")):
                yield self._place(function, stored)
        if owner is None and owners:
            yield from self._copied[name]

    def _owners(self, of: Class) -> list[Class]:
        """Return the class and those that are derived from it."""
        found = [of]
        for owner in found:
            found += (
                derived
                for derived in self._classes
                if owner.name in map(final_name, derived.bases) and derived not in found
            )
        return found

    def _method(self, of: Class, name: str) -> Function | None:
        return self._project.names.home_of_class(of).functions.get(f"{of.qualname}.{name}")

    def _has(self, of: Class, name: str) -> bool:
        return bool(self._stores(of, name)) or self._method(of, name) is not None

    def _stores(self, of: Class, name: str) -> list[tuple[Function, Stored]]:
        return [
            (function, stored)
            for function, stored in self._stored[name]
            if stored.base in ("self", "cls") and function.class_name == of.qualname and function.path == of.path
        ]

    def _as_made(self, of: Class, name: str) -> Iterator[SetPlace]:
        """Yield what each call that makes an object of the class sets `name` to."""
        home = self._project.names.home_of_class(of)
        init = home.functions.get(f"{of.qualname}.__init__")
        known = of.fields.get(name)
        stores = [store for store in self._stores(of, name) if store[0].name in MAKING]
        if known is not None and not stores and (init is not None or name not in of.declared):
            yield SetPlace(known.value, home, home.top, known.order)
        for caller in self._made[of]:
            site = caller.site
            if init is None and name in of.declared:
                given = dict(site.call.keywords).get(name)
                at = of.declared.index(name)
                given = site.call.args[at] if given is None and at < len(site.call.args) else given
                if given is not None:
                    yield SetPlace(given, caller.module, caller.function, site.order, site.arms)
                elif known is not None:
                    yield SetPlace(known.value, home, home.top, known.order)
            for function, stored in stores:
                param = function.param(stored.value.id) if isinstance(stored.value, Name) else None
                if init is None or param is None:
                    yield self._place(function, stored)
                    continue
                bound = bind(init, site.call).get(param.name)
                if bound is not None:
                    yield SetPlace(bound, caller.module, caller.function, site.order, site.arms)
                elif param.default is not None:
                    yield SetPlace(param.default, home, home.top, 0)

"""Links each launch to the kernels that it may start, wherever they are defined."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_NAMES
from triton_doctor.static.project.project import LinkedLaunch
from triton_doctor.static.python.function import Argument, Function
from triton_doctor.static.python.function_body import DECLARED
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Conditional,
    Const,
    DictExpr,
    Expr,
    Name,
    Subscript,
    TupleExpr,
    dotted,
)
from triton_doctor.static.python.module import Class, Kernel
from triton_doctor.static.python.reaching_definitions import reaching_definitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.static.project.names.resolver import Definition, Resolver
    from triton_doctor.static.python.function import BranchArm, Launch
    from triton_doctor.static.python.module import Module

# The keys applied to the followed value, first to last: entries of a dict, a namespace or a tuple. None is any entry.
_Keys: TypeAlias = "tuple[str | None, ...]"
# A position after every statement of a function.
_END = 1 << 30
_PARTIAL = ("partial", "functools.partial")


def link_launches(module: Module, names: Resolver) -> tuple[LinkedLaunch, ...]:
    """Return the launches of `module`, in order; those whose kernel was not found have no kernels.

    What a function returns is a launch only if its kernel was found.
    """
    found = []
    for function, launch in module.launches():
        point = _LinkPoint(module, function, launch.order, launch.arms)
        declared = launch.method == DECLARED
        kernels = _distinct(_declared(names, launch, point) if declared else _follow_launch(names, launch, point))
        if declared and kernels:
            launch = replace(launch, arguments=(*launch.arguments, *_filled_in(function, launch, kernels[0])))
        if kernels or not declared:
            found.append(LinkedLaunch(module=module, function=function, launch=launch, kernels=kernels))
    return tuple(found)


def _distinct(kernels: Iterable[Kernel]) -> tuple[Kernel, ...]:
    return tuple({kernel.key: kernel for kernel in kernels}.values())


def _follow_launch(names: Resolver, launch: Launch, point: _LinkPoint) -> Iterator[Kernel]:
    return _follow(names, launch.kernel, point, MOST_NAMES)


def _declared(names: Resolver, launch: Launch, point: _LinkPoint) -> Sequence[Kernel]:
    """Return the kernels that a returned grid and arguments may be for: those with most of the named parameters.

    They are returned or decorate the function, or the object of the method or its class holds them.
    """
    given = {argument.name for argument in launch.arguments}
    calls = [decorator for decorator in point.function.decorators if isinstance(decorator, Call)]
    decorators = [arg for call in calls for arg in (*call.args, *(value for _, value in call.keywords))]
    table = [argument.value for argument in launch.arguments if argument.name == "kernel"]
    owner = point.module.classes.get(point.function.class_name or "")
    held = (Attr(Name("self"), name) for name in (_held_names(names, owner, point.module) if owner else ()))
    for candidates in (table, [launch.kernel, *decorators], held):
        items = [
            item
            for candidate in candidates
            for item in (candidate.items if isinstance(candidate, TupleExpr) else (candidate,))
        ]
        found = _distinct(kernel for item in items for kernel in _follow(names, item, point, MOST_NAMES))
        fits = {kernel.key: len(given & {param.name for param in kernel.params}) for kernel in found}
        best = max(fits.values(), default=0)
        if best * 2 > len(given):
            return [kernel for kernel in found if fits[kernel.key] == best]
    return ()


def _held_names(names: Resolver, owner: Class, module: Module) -> Iterator[str]:
    """Yield the names that the class `owner`, its methods and its bases bind to anything."""
    home = names.home_of_class(owner)
    yield from owner.fields
    yield from (kernel.function_name for kernel in home.kernels if kernel.qualname.rpartition(".")[0] == owner.qualname)
    for function in home.functions.values():
        if function.class_name == owner.qualname:
            yield from (stored.name for stored in function.stored if stored.base in ("self", "cls"))
    for base in owner.bases:
        inherited = names.dotted(home, dotted(base) or "?")
        if isinstance(inherited, Class) and inherited is not owner:
            yield from _held_names(names, inherited, home)


def _filled_in(function: Function, launch: Launch, kernel: Kernel) -> Iterator[Argument]:
    """Yield the parameters of `function` that a helper gives to `kernel` by name: `x` for `x` or `x_ptr`.

    Something has to fill a parameter without a default.
    """
    given = {argument.name for argument in launch.arguments}
    own = {param.name.lower(): param.name for param in function.params if not param.variadic}
    for param in kernel.params:
        source = own.get(param.name.lower()) or own.get(param.name.lower().removesuffix("_ptr"))
        if source is not None and param.name not in given and param.default is None:
            yield Argument(param.name, Name(source), launch.span)


class _LinkPoint(NamedTuple):
    """The point at which an expression is resolved.

    `call` entered the function, at the point `caller`; both are None if the caller is unknown.
    """

    module: Module
    function: Function
    order: int
    arms: tuple[BranchArm, ...]
    call: Call | None = None
    caller: _LinkPoint | None = None


def _follow(names: Resolver, expr: Expr, point: _LinkPoint, steps: int, keys: _Keys = ()) -> Iterator[Kernel]:
    """Yield the kernels that `expr` may be, or the entry of it that `keys` select."""
    if steps == 0:
        return
    match expr:
        case Name(name):
            yield from _named(names, name, point, steps, keys)
        case Attr(Name("self" | "cls" as base), name) if point.function.class_name is not None:
            for function in point.module.functions.values():
                if function.class_name == point.function.class_name and function.holds(name.encode()):
                    for stored in function.stored:
                        if (stored.base, stored.name) == (base, name):
                            inner = _LinkPoint(point.module, function, stored.order, ())
                            yield from _follow(names, stored.value, inner, steps - 1, keys)
            owner = point.module.classes.get(point.function.class_name)
            if owner is not None:
                yield from _follow_field(names, owner, name, steps - 1, keys)
        case Attr(base, name):
            found = _defined(names, expr, point)
            if isinstance(found, Kernel):
                yield from () if keys else (found,)
            elif name == "fn":
                yield from _follow(names, base, point, steps - 1, keys)
            elif isinstance(found := _defined(names, base, point), Class):
                yield from _follow_field(names, found, name, steps - 1, keys)
            else:
                yield from _follow(names, base, point, steps - 1, (name, *keys))
        case Subscript(base, key):
            entry = key.value if isinstance(key, Const) and isinstance(key.value, str) else None
            yield from _follow(names, base, point, steps - 1, (entry, *keys))
        case Conditional(_, options):
            for option in options:
                yield from _follow(names, option, point, steps - 1, keys)
        case DictExpr(items) if keys:
            for named, value in items:
                if keys[0] is None or named == Const(keys[0]):
                    yield from _follow(names, value, point, steps - 1, keys[1:])
        case TupleExpr(items) if keys and keys[0] is None:
            for item in items:
                yield from _follow(names, item, point, steps - 1, keys[1:])
        case Call(func, args, keywords):
            callee = _defined(names, func, point)
            found_any = False
            if isinstance(callee, Function):
                home = names.home(callee)
                for returned in callee.returns:
                    inner = _LinkPoint(home, callee, returned.order, (), expr, point)
                    for kernel in _follow(names, returned.value, inner, steps - 1, keys):
                        found_any = True
                        yield kernel
            elif keys and keys[0] is not None and keys[0] in dict(keywords):  # `dict(rows=kernel)`, a namespace
                yield from _follow(names, dict(keywords)[keys[0]], point, steps - 1, keys[1:])
            if args and not found_any and not keys:
                # An unknown wrapper, such as `wrap_triton(kernel)` or `libentry()(kernel)`, keeps the parameters.
                yield from _follow(names, args[0], point, steps - 1)
        case _:
            pass


def _defined(names: Resolver, expr: Expr, point: _LinkPoint) -> Definition | None:
    """Return the definition that the dotted name `expr` refers to at the top level."""
    full = dotted(expr)
    return names.dotted(point.module, full) if full is not None else None


def _follow_field(names: Resolver, owner: Class, name: str, steps: int, keys: _Keys) -> Iterator[Kernel]:
    """Yield the kernels bound to `name` in the body of the class `owner`, or of the first base that binds it."""
    home = names.home_of_class(owner)
    own = list(names.kernels(home, f"{owner.qualname}.{name}"))
    binding = owner.fields.get(name)
    if own or steps == 0:
        yield from () if keys else own
    elif binding is not None:
        yield from _follow(names, binding.value, _LinkPoint(home, home.top, _END, ()), steps, keys)
    else:
        for base in owner.bases:
            inherited = names.dotted(home, dotted(base) or "?")
            if isinstance(inherited, Class) and (found := list(_follow_field(names, inherited, name, steps - 1, keys))):
                yield from found
                return


def _named(names: Resolver, name: str, point: _LinkPoint, steps: int, keys: _Keys) -> Iterator[Kernel]:
    module, function, order, arms, call, caller = point
    local = reaching_definitions(function, name, order, arms)
    for binding in local.bindings:
        inner = point._replace(order=binding.order, arms=binding.arms)
        yield from _follow(names, binding.value, inner, steps - 1, keys)
    if local.certain:
        return
    if function.param(name) is not None:
        if call is None or caller is None:
            yield from _passed(names, name, point, steps, keys)
        elif (passed := bind(function, call).get(name)) is not None:
            yield from _follow(names, passed, caller, steps - 1, keys)
    elif function.name != "<module>":
        own = names.kernels(module, f"{function.qualname}.<locals>.{name}")
        outer = module.functions.get(function.parent or "<module>")
        if own:
            yield from () if keys else own
        elif outer is not None:
            last = max((binding.order for binding in outer.bindings.get(name, ())), default=0)
            yield from _named(names, name, _LinkPoint(module, outer, last + 1, ()), steps, keys)
    elif not keys:
        own = names.kernels(module, name)
        found = None if own else names.defined(module, name)
        yield from names.variants(found) if isinstance(found, Kernel) else own


def _passed(names: Resolver, name: str, point: _LinkPoint, steps: int, keys: _Keys) -> Iterator[Kernel]:
    """Yield the kernels that calls in the same file pass as the parameter `name` of a function."""
    module, function = point.module, point.function
    if function.class_name is not None or function.parent != "<module>":
        return
    for caller in module.functions.values():
        if caller is function or not caller.holds(function.name.encode()):
            continue
        for site in caller.calls:
            call = site.call
            if dotted(call.func) in _PARTIAL and call.args:
                call = Call(call.args[0], call.args[1:], call.keywords)
            if call.func == Name(function.name) and (passed := bind(function, call).get(name)) is not None:
                yield from _follow(names, passed, _LinkPoint(module, caller, site.order, site.arms), steps - 1, keys)

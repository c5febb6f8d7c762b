"""Links each launch to the kernels that it may start, wherever they are defined."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_NAMES
from triton_doctor.static.project.project import LinkedLaunch
from triton_doctor.static.python.function import Function
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
    from collections.abc import Iterator

    from triton_doctor.static.project.names.resolver import Definition, Resolver
    from triton_doctor.static.python.function import BranchArm, Launch
    from triton_doctor.static.python.module import Module

# The keys applied to the followed value, first to last: entries of a dict, a namespace or a tuple. None is any entry.
_Keys: TypeAlias = "tuple[str | None, ...]"
# A position after every statement of a function.
_END = 1 << 30
_PARTIAL = ("partial", "functools.partial")


def link_launches(module: Module, names: Resolver) -> tuple[LinkedLaunch, ...]:
    """Return the launches of `module`, in order; those whose kernel was not found have no kernels."""
    return tuple(
        LinkedLaunch(module=module, function=function, launch=launch, kernels=_kernels(names, module, function, launch))
        for function, launch in module.launches()
    )


def _kernels(names: Resolver, module: Module, function: Function, launch: Launch) -> tuple[Kernel, ...]:
    point = _LinkPoint(module, function, launch.order, launch.arms)
    return tuple({kernel.key: kernel for kernel in _follow(names, launch.kernel, point, MOST_NAMES)}.values())


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

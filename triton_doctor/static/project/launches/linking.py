"""Launches to kernels: which each may start, wherever it is defined."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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

    from triton_doctor.static.project.names.resolver import Resolver
    from triton_doctor.static.python.function import BranchArm, Launch
    from triton_doctor.static.python.module import Module

# A kernel passes through a few names (`kernel = a if c else b`, `fn = wrap(kernel)`) before it is launched.
# What stands after every statement of a function.
_END = 1 << 30
_PARTIAL = ("partial", "functools.partial")


def link_launches(module: Module, names: Resolver) -> tuple[LinkedLaunch, ...]:
    """The launches that `module` makes, in order; those that no kernel was found for have none."""
    return tuple(
        LinkedLaunch(module=module, function=function, launch=launch, kernels=_kernels(names, module, function, launch))
        for function, launch in module.launches()
    )


def _kernels(names: Resolver, module: Module, function: Function, launch: Launch) -> tuple[Kernel, ...]:
    point = _LinkPoint(module, function, launch.order, launch.arms)
    return tuple({kernel.key: kernel for kernel in _follow(names, launch.kernel, point, MOST_NAMES)}.values())


class _LinkPoint(NamedTuple):
    """Where an expression stands, which decides what its names mean.

    `call` entered the function, and stands at `caller`; both are None where it is entered from anywhere.
    """

    module: Module
    function: Function
    order: int
    arms: tuple[BranchArm, ...]
    call: Call | None = None
    caller: _LinkPoint | None = None


def _follow(names: Resolver, expr: Expr, point: _LinkPoint, steps: int) -> Iterator[Kernel]:
    """The kernels that `expr` may be."""
    if steps == 0:
        return
    match expr:
        case Name(name):
            yield from _named(names, name, point, steps)
        case Attr(Name("self" | "cls" as base), name) if point.function.class_name is not None:
            for function in point.module.functions.values():
                if function.class_name == point.function.class_name and function.holds(name.encode()):
                    for stored in function.stored:
                        if (stored.base, stored.name) == (base, name):
                            inner = _LinkPoint(point.module, function, stored.order, ())
                            yield from _follow(names, stored.value, inner, steps - 1)
            owner = point.module.classes.get(point.function.class_name)
            if owner is not None:
                yield from _follow_field(names, owner, name, steps - 1)
        case Attr(base, name):
            full = dotted(expr)
            found = names.dotted(point.module, full) if full is not None else None
            if isinstance(found, Kernel):
                yield found
            elif name == "fn":
                yield from _follow(names, base, point, steps - 1)
            elif isinstance(owner := _class_of(names, base, point), Class):
                yield from _follow_field(names, owner, name, steps - 1)
            else:
                yield from _follow_entry(names, base, name, point, steps - 1)
        case Subscript(base, Const(str(name))):
            yield from _follow_entry(names, base, name, point, steps - 1)
        case Subscript(base, _):
            yield from _follow_entry(names, base, None, point, steps - 1)
        case Conditional(_, options):
            for option in options:
                yield from _follow(names, option, point, steps - 1)
        case Call(func, args, _):
            full = dotted(func)
            callee = names.dotted(point.module, full) if full is not None else None
            found_any = False
            if isinstance(callee, Function):
                home = names.home(callee)
                for returned in callee.returns:
                    inner = _LinkPoint(home, callee, returned.order, (), expr, point)
                    for kernel in _follow(names, returned.value, inner, steps - 1):
                        found_any = True
                        yield kernel
            if args and not found_any:
                # A wrapper out of sight, `wrap_triton(kernel)` or `libentry()(kernel)`, keeps the parameters.
                yield from _follow(names, args[0], point, steps - 1)
        case _:
            pass


def _class_of(names: Resolver, base: Expr, point: _LinkPoint) -> Class | None:
    """The class that `base` names; None where it names something else."""
    full = dotted(base)
    found = names.dotted(point.module, full) if full is not None else None
    return found if isinstance(found, Class) else None


def _follow_field(names: Resolver, owner: Class, name: str, steps: int) -> Iterator[Kernel]:
    """The kernels that `name` is in the body of the class `owner`, or of the first base that binds it."""
    home = names.home_of_class(owner)
    own = list(names.kernels(home, f"{owner.qualname}.{name}"))
    binding = owner.fields.get(name)
    top = home.functions.get("<module>")
    if own or steps == 0:
        yield from own
    elif binding is not None and top is not None:
        yield from _follow(names, binding.value, _LinkPoint(home, top, _END, ()), steps)
    else:
        for base in owner.bases:
            inherited = names.dotted(home, dotted(base) or "?")
            if isinstance(inherited, Class) and (found := list(_follow_field(names, inherited, name, steps - 1))):
                yield from found
                return


def _follow_entry(names: Resolver, table: Expr, name: str | None, point: _LinkPoint, steps: int) -> Iterator[Kernel]:
    """The kernels that `table.name` or `table["name"]` may be: of a namespace or a dict, made here or by a function.

    `name` None stands for any entry.
    """
    if steps == 0:
        return
    match table:
        case Name(local):
            reaching = reaching_definitions(point.function, local, point.order, point.arms)
            for binding in reaching.bindings:
                inner = _LinkPoint(point.module, point.function, binding.order, binding.arms)
                yield from _follow_entry(names, binding.value, name, inner, steps - 1)
            top = point.module.functions["<module>"]
            if not reaching.bindings and top is not point.function and not _is_param(point.function, local):
                for binding in top.bindings.get(local, ()):
                    inner = _LinkPoint(point.module, top, binding.order, binding.arms)
                    yield from _follow_entry(names, binding.value, name, inner, steps - 1)
        case DictExpr(items):
            for key, value in items:
                if name is None or key == Const(name):
                    yield from _follow(names, value, point, steps - 1)
        case TupleExpr(items) if name is None:
            for item in items:
                yield from _follow(names, item, point, steps - 1)
        case Call(func, _, keywords):
            full = dotted(func)
            callee = names.dotted(point.module, full) if full is not None else None
            if isinstance(callee, Function):
                home = names.home(callee)
                for returned in callee.returns:
                    yield from _follow_entry(
                        names, returned.value, name, _LinkPoint(home, callee, returned.order, ()), steps - 1
                    )
            elif name is not None and name in dict(keywords):
                yield from _follow(names, dict(keywords)[name], point, steps - 1)
        case _:
            pass


def _named(names: Resolver, name: str, point: _LinkPoint, steps: int) -> Iterator[Kernel]:
    module, function, order, arms, call, caller = point
    local = reaching_definitions(function, name, order, arms)
    for binding in local.bindings:
        yield from _follow(names, binding.value, point._replace(order=binding.order, arms=binding.arms), steps - 1)
    if local.certain:
        return
    if _is_param(function, name):
        if call is None or caller is None:
            yield from _passed(names, name, point, steps)
        elif (passed := bind(function, call).get(name)) is not None:
            yield from _follow(names, passed, caller, steps - 1)
        return
    if function.name != "<module>":
        own = list(names.kernels(module, f"{function.qualname}.<locals>.{name}"))
        if own:
            yield from own
            return
        outer = module.functions.get(function.parent or "<module>")
        if outer is not None:
            last = max((binding.order for binding in outer.bindings.get(name, ())), default=0)
            yield from _named(names, name, _LinkPoint(module, outer, last + 1, ()), steps - 1)
        return
    own = list(names.kernels(module, name))
    if own:
        yield from own
        return
    found = names.defined(module, name)
    if isinstance(found, Kernel):
        yield from names.variants(found)


def _is_param(function: Function, name: str) -> bool:
    return any(param.name == name for param in function.params)


def _passed(names: Resolver, name: str, point: _LinkPoint, steps: int) -> Iterator[Kernel]:
    """The kernels that the calls in the same file pass as the parameter `name` of a function."""
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
                yield from _follow(names, passed, _LinkPoint(module, caller, site.order, site.arms), steps - 1)

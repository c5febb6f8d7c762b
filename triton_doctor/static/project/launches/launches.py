"""Kernels to their launches, and launches to the arguments that they spell out; nothing is evaluated here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.launches.argument_positions import cannot_bind, match_positions
from triton_doctor.static.project.limits import MOST_NAMES
from triton_doctor.static.python.ir import Attr, Call, Name, Star, TupleExpr, dotted, every_part
from triton_doctor.static.python.reaching_definitions import reaching_definitions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Argument, Binding, BranchArm, Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel


@cached_in_scan(most=1)
def launches_of(project: Project) -> Mapping[tuple[str, str, int], tuple[LinkedLaunch, ...]]:
    """Return the launches of each kernel that bind, by `Kernel.key`, in order of paths and lines."""
    found: dict[tuple[str, str, int], list[LinkedLaunch]] = {}
    for launch in project.launches:
        for kernel in launch.kernels:
            if cannot_bind(launch.launch, kernel) or _lacks_argument(launch, kernel):
                continue
            found.setdefault(kernel.key, []).append(launch)
    return {key: tuple(sorted(launches, key=_position)) for key, launches in found.items()}


def _lacks_argument(launch: LinkedLaunch, kernel: Kernel) -> bool:
    """Return whether the launch omits a parameter of `kernel` that has no default: it raises and compiles nothing.

    False if a config, a heuristic, a wrapper or a star may provide it.
    """
    if (
        kernel.autotune is not None
        or any(heuristic.param == "*" for heuristic in kernel.heuristics)
        or hides_arguments(launch)
    ):
        return False
    if not kernel.has_own_decorators or not _names_itself(launch, kernel):
        return False
    positional = sum(argument.name is None for argument in launch.launch.arguments)
    given = {argument.name for argument in launch.launch.arguments} | {
        heuristic.param for heuristic in kernel.heuristics
    }
    return any(param.default is None and param.name not in given for param in kernel.params[positional:])


def _names_itself(launch: LinkedLaunch, kernel: Kernel) -> bool:
    """Return whether the launch names `kernel` directly, as defined or imported, and no wrapper of it."""
    match launch.launch.kernel:
        case Name(name) if name not in launch.function.bindings:
            imported = launch.module.imports.get(name)
            return kernel.function_name == (name if imported is None else imported.member)
        case Attr(Name(module), name):
            imported = launch.module.imports.get(module)
            return name == kernel.function_name and imported is not None
        case _:
            return False


def _position(launch: LinkedLaunch) -> tuple[str, int, int]:
    return (launch.module.path, launch.launch.span.line, launch.launch.span.column)


@cached_in_scan()
def spelled_out(launch: LinkedLaunch, kernel: Kernel) -> Mapping[str, Argument]:
    """Return the arguments that `launch` gives by keyword or by a certain position: parameters, then options."""
    found = {
        name: argument
        for name, argument, expr in match_positions(launch.launch, kernel, _displayed_count)
        if expr is argument.value
    }
    for argument in launch.launch.arguments:
        if argument.name is not None and argument.name != "**":
            found.setdefault(argument.name, argument)
    return found


def _displayed_count(starred: Expr) -> int | None:
    """Return the number of items of a starred display; None for anything that would have to be evaluated."""
    if isinstance(starred, TupleExpr) and not any(isinstance(item, Star) for item in starred.items):
        return len(starred.items)
    return None


def hides_arguments(launch: LinkedLaunch) -> bool:
    """Return whether a starred list or table gives arguments that are not spelled out."""
    return any(argument.name == "**" or isinstance(argument.value, Star) for argument in launch.launch.arguments)


def origin_of(launch: LinkedLaunch, expr: Expr) -> Expr:
    """Return the expression assigned to the name `expr`, if there is exactly one at the launch; else `expr`."""
    order, arms = launch.launch.order, launch.launch.arms
    for _ in range(MOST_NAMES):
        if not isinstance(expr, Name):
            break
        found = reaching_definitions(launch.function, expr.id, order, arms)
        if not found.certain or len(found.bindings) != 1:
            break
        (binding,) = found.bindings
        expr, order, arms = binding.value, binding.order, binding.arms
    return expr


def expects_error(launch: LinkedLaunch) -> bool:
    """Return whether the launch is expected to fail."""
    return _is_expected(launch.function, launch.launch.arms)


def is_expected_to_fail(project: Project, kernel: Kernel) -> bool:
    """Return whether every launch of the kernel is expected to fail.

    For a kernel without launches, every call it is passed to.
    """
    launches = launches_of(project).get(kernel.key, ())
    if launches:
        return all(map(expects_error, launches))
    module = project.modules[kernel.path]
    handed = [
        _is_expected(function, site.arms)
        for function in module.functions.values()
        if function.holds(b"raises") or function.decorators or function.holds(b"Error")
        for site in function.calls
        if _mentions(site.call, kernel.function_name)
    ]
    return bool(handed) and all(handed)


def expects_error_after(function: Function, binding: Binding) -> bool:
    """Return whether `function` expects a launch after `binding` to fail."""
    points = [(launch.order, launch.arms) for launch in function.launches] + [
        (call.order, call.arms) for call in function.calls
    ]
    return any(_is_expected(function, arms) for order, arms in points if order > binding.order)


def _is_expected(function: Function, arms: Sequence[BranchArm]) -> bool:
    if any(arm.expects_error for arm in arms):
        return True
    names = (
        dotted(decorator.func if isinstance(decorator, Call) else decorator) or "" for decorator in function.decorators
    )
    return any(name.rpartition(".")[2] in ("xfail", "expectedFailure") for name in names)


def _mentions(call: Call, name: str) -> bool:
    return Name(name) in every_part(*call.args, *(value for _, value in call.keywords))

"""Finds an argument for which no known caller takes the branch of a launch.

`if causal:` around a launch is never taken if `causal` is False by default and no caller in the project passes it. A
function that a package exports may have other callers.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_CALLERS
from triton_doctor.static.python.conditions import name_in_flag
from triton_doctor.static.python.ir import Const, Star

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.project.project import LinkedLaunch
    from triton_doctor.static.python.function import Function, HostParam
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter


def explain_untaken_branch(interpreter: Interpreter, launch: LinkedLaunch) -> str | None:
    """Return why no caller takes the branch with `launch`; None if one may, or if there are no known callers."""
    function, callers = launch.function, None
    for arm in launch.launch.arms:
        if arm.flag is None:
            continue
        name = name_in_flag(arm.flag)
        param = function.param(name or arm.flag)
        if param is None or param.variadic or param.name in function.bindings:
            continue
        if callers is None:
            if interpreter.reachability.exports(launch.module, function):
                return None
            callers = _callers(interpreter, launch)
        truths = {_truth(_passed(one, function, param), is_none=name is not None) for one in callers}
        if truths == {not arm.is_true}:
            return f"every call of `{function.name}` in the project keeps `{param.name}` from leading there"
    return None


def _callers(interpreter: Interpreter, launch: LinkedLaunch) -> Sequence[Caller]:
    """Return the calls of the launching function in programs; empty if there are too many to read."""
    graph, module, function = interpreter.call_graph, launch.module, launch.function
    found = list(islice(graph.callers_of(module, function), MOST_CALLERS + 1))
    found += islice(graph.callers_without_triton(module, function), MOST_CALLERS + 1 - len(found))
    return found if len(found) <= MOST_CALLERS else ()


def _passed(caller: Caller, function: Function, param: HostParam) -> Expr | None:
    """Return what `caller` passes for `param`, or its default; None if unknown."""
    call = caller.site.call
    given = bind(function, call).get(param.name)
    if given is not None:
        return given
    if any(isinstance(one, Star) for one in call.args) or any(name is None for name, _ in call.keywords):
        return None
    return param.default


def _truth(given: Expr | None, *, is_none: bool) -> bool | None:
    """Return whether a literal is None, or true; None for anything else."""
    match given:
        case Const(value) if is_none or isinstance(value, bool):
            return value is None if is_none else value is True
        case _:
            return None

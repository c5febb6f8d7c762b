"""TRD210: a kernel that reads a global variable which Triton does not allow it to read, or which changes later."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Facts, Finding, Location, Severity, Step
from triton_doctor.static.project.launches.launches import (
    expects_error_after,
    hides_arguments,
    is_expected_to_fail,
    launches_of,
    spelled_out,
)
from triton_doctor.static.python.ir import Call, Const, Expr, TupleExpr, final_name
from triton_doctor.static.python.module import is_for_a_fork
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.timed_regions import Launching
from triton_doctor.variables import Version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import Binding, Function
    from triton_doctor.static.python.module import Kernel, Module

CODE = "TRD210"
# Allows kernels to read any global (triton 3.9 knobs.py).
_ALLOWING = "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"
# Triton 3.0 was the first to reject a global that is no constexpr; 3.3 was the first to reject one that is only
# annotated.
_REFUSES_PLAIN, _REFUSES_ANNOTATED = Version(3, 0), Version(3, 3)


class _Reassigned(NamedTuple):
    """A global of `kernel` that `function` of `home` reassigns."""

    name: str
    home: Module
    first: Binding
    function: Function
    again: Binding


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each kernel and unreadable global, and for each function that reassigns its globals.

    A global that may be Triton under another name is left alone.
    """
    allowed = _ALLOWING in project.set_anywhere
    for kernel in project.kernels():
        module = project.modules[kernel.path]
        if kernel.jit_span is None or kernel.made_in or is_for_a_fork(module):
            continue
        reassigned: dict[str, list[_Reassigned]] = {}
        for name in sorted(kernel.uses.outer):
            home, own = project.names.defining(module, name) or (module, name)
            bindings = home.top.bindings.get(own, ()) if own not in home.imports else ()
            if not bindings:
                continue
            if is_expected_to_fail(project, kernel):
                break
            if all(_is_plain(binding.value) for binding in bindings) and not allowed:
                if not any(
                    read == name and _skips(project, kernel, flag, value)
                    for read, flag, value in kernel.uses.conditional
                ):
                    yield _not_constexpr(project, kernel, name, home, bindings)
            elif all(_is_constexpr(binding.value) for binding in bindings):
                for later in _assigned_later(home, own):
                    if not expects_error_after(*later):
                        again = _Reassigned(name, home, bindings[-1], *later)
                        reassigned.setdefault(f"{home.path}:{later[0].qualname}", []).append(again)
                        break
        for several in reassigned.values():
            yield _changes(project, kernel, several)


def _skips(project: Project, kernel: Kernel, flag: str | None, value: bool) -> bool:
    """Return whether Triton skips the arm of a branch that needs the truth `value` of `flag`; a literal if None.

    It does where `flag` is a constexpr, and each known launch of `kernel` passes a literal of the other truth.
    """
    if flag is None:
        return True
    param = next(parameter for parameter in kernel.params if parameter.name == flag)
    launches = launches_of(project).get(kernel.key, ())
    given = [spelled_out(launch, kernel).get(flag) for launch in launches if not hides_arguments(launch)]
    values = [param.default if passed is None else passed.value for passed in given]
    return (
        param.is_constexpr
        and 0 < len(launches) == len(given)
        and all(isinstance(passed, Const) and bool(passed.value) is not value for passed in values)
        and not kernel.may_set(flag)
    )


def _is_plain(value: Expr) -> bool:
    """Return whether it is a number, a string or a tuple of them, which no kernel may read."""
    match value:
        case Const(literal):
            return literal is not ... and literal is not None
        case TupleExpr(items):
            return bool(items) and all(isinstance(item, Const) for item in items)
        case _:
            return False


def _is_constexpr(value: Expr) -> bool:
    return isinstance(value, Call) and final_name(value.func) == "constexpr"


def _assigned_later(home: Module, name: str) -> Iterator[tuple[Function, Binding]]:
    """Yield the functions that declare `global name` and assign it, in order, with the first assignment of each."""
    for function in home.functions.values():
        declares = function.name != "<module>" and function.holds(b"global")
        if declares and name in function.globals and function.bindings.get(name):
            yield function, function.bindings[name][0]


def _not_constexpr(project: Project, kernel: Kernel, name: str, home: Module, bindings: Sequence[Binding]) -> Finding:
    annotated = any(binding.annotation == "constexpr" for binding in bindings)
    what = "is only annotated as a constexpr" if annotated else "is not a constexpr"
    first = _REFUSES_ANNOTATED if annotated else _REFUSES_PLAIN
    pinned = project.pinned_triton
    works = pinned is not None and pinned < first
    return Finding(
        path=kernel.path,
        span=kernel.span,
        code=CODE,
        severity=Severity.INFO if works else Severity.ERROR,
        message=(
            f"`{kernel.name}` reads the global `{name}`, which {what}: Triton {first} and newer do not compile it"
            + (f"; the project pins Triton {pinned}, which does" if works else "")
        ),
        advice=f"write `{name} = tl.constexpr(...)`" + _advise_reads(name, bindings),
        facts=_facts(kernel, name),
        trail=(Step(home.path, bindings[-1].line, f"`{name}` is set"),),
    )


def _advise_reads(name: str, bindings: Sequence[Binding]) -> str:
    """Return what else is due: `.value` of a table, which every Triton indexes; for one value, the other way."""
    if any(isinstance(binding.value, TupleExpr) for binding in bindings):
        return f", and read its items as `{name}.value[...]`, since Triton 3.2 cannot index a constexpr"
    return ", or make it a `tl.constexpr` parameter of the kernel"


def _changes(project: Project, kernel: Kernel, reassigned: Sequence[_Reassigned]) -> Finding:
    function, first = reassigned[0].function, reassigned[0]
    names = " and ".join(f"`{binding.name}`" for binding in reassigned[:2])
    if len(reassigned) > 2:
        names = f"`{first.name}` and {len(reassigned) - 1} others"
    what = f"the global {names}" if len(reassigned) == 1 else f"the globals {names}"
    shown = interpreter_of(project).call_graph.is_shown(kernel) or first.home.path in project.tests
    runs_late = _may_follow_a_launch(project, first.home, function, first.again)
    return Finding(
        path=kernel.path,
        span=kernel.span,
        code=CODE,
        severity=Severity.WARNING if runs_late and not shown else Severity.INFO,
        message=(
            f"`{kernel.name}` reads {what}, which `{function.qualname}` reassigns: a launch after that raises "
            "RuntimeError" + ("" if runs_late else " if the kernel was launched before")
        ),
        advice=(
            f"make {'it a `tl.constexpr` parameter' if len(reassigned) == 1 else 'them `tl.constexpr` parameters'} "
            "of the kernel: each value then gets its own variant"
        ),
        facts=_facts(kernel, first.name),
        trail=(
            Step(first.home.path, first.first.line, f"`{first.name}` is set"),
            Step(first.home.path, first.again.line, f"`{function.qualname}` assigns it again"),
        ),
    )


def _may_follow_a_launch(project: Project, home: Module, function: Function, again: Binding) -> bool:
    """Return whether kernels were launched before `function` reassigns a global, or it runs in a loop.

    A setter that runs once before the first launch does no harm, and one without known callers may not.
    """
    if Launching(project).may_have_launched(home, function, again.order):
        return True
    callers = interpreter_of(project).call_graph.callers_of(home, function)
    return any(arm.loop for caller in callers for arm in caller.site.arms)


def _facts(kernel: Kernel, name: str) -> Facts:
    return Facts(kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line), parameter=name)


RULE = Rule(code=CODE, check=check)

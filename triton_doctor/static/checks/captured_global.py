"""TRD210: a kernel that reads a global variable which Triton does not let it read, or which changes later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Place, Severity, Step
from triton_doctor.static.expected_errors import is_expected_to_fail
from triton_doctor.static.expression import Call, Const, Expr, Pack, dotted
from triton_doctor.static.forks import is_for_a_fork

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.model import Kernel, Module, Project
    from triton_doctor.static.model_function import Binding, Function

CODE = "TRD210"
# It lets kernels read any global (triton 3.9 knobs.py).
_ALLOWING = "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"


def check(project: Project) -> Iterator[Finding]:
    """One finding a kernel and global, at the kernel. What may be Triton by another name only is left alone."""
    allowed = _ALLOWING in project.set_anywhere
    for kernel in project.kernels():
        module = project.modules[kernel.path]
        if kernel.jit_span is None or kernel.made_in or is_for_a_fork(module):
            continue
        for name in sorted(kernel.outer):
            home, own = project.names.defining(module, name) or (module, name)
            top = home.functions.get("<module>")
            bindings = top.bindings.get(own, ()) if top is not None and own not in home.imports else ()
            if not bindings:
                continue
            if is_expected_to_fail(project, kernel):
                break
            if all(_is_plain(binding.value) for binding in bindings) and not allowed:
                yield _not_constexpr(kernel, name, home, bindings)
            elif all(_is_constexpr(binding.value) for binding in bindings):
                later = _assigned_later(home, own)
                if later is not None:
                    yield _changes(kernel, name, home, bindings, later)


def _is_plain(value: Expr) -> bool:
    """Whether it is a number, a string or a tuple of them, which no kernel may read."""
    match value:
        case Const(literal):
            return literal is not ... and literal is not None
        case Pack(items):
            return bool(items) and all(isinstance(item, Const) for item in items)
        case _:
            return False


def _is_constexpr(value: Expr) -> bool:
    return isinstance(value, Call) and (dotted(value.func) or "").rpartition(".")[2] == "constexpr"


def _assigned_later(home: Module, name: str) -> tuple[Function, Binding] | None:
    """The first function that says `global name` and assigns it."""
    for function in home.functions.values():
        declares = function.name != "<module>" and function.holds(b"global")
        if declares and name in function.globals and function.bindings.get(name):
            return function, function.bindings[name][0]
    return None


def _not_constexpr(kernel: Kernel, name: str, home: Module, bindings: Sequence[Binding]) -> Finding:
    annotated = any(binding.annotation == "constexpr" for binding in bindings)
    how = (
        "which is only annotated as a constexpr: an error since triton 3.3" if annotated else "which is not a constexpr"
    )
    return Finding(
        path=kernel.path,
        span=kernel.span,
        code=CODE,
        severity=Severity.ERROR,
        message=f"`{kernel.name}` reads the global `{name}`, {how}" + ("" if annotated else ": it does not compile"),
        advice=f"write `{name} = tl.constexpr(...)`, or make it a parameter of the kernel",
        facts=_facts(kernel, name),
        trail=(Step(home.path, bindings[-1].line, f"`{name}` is set"),),
    )


def _changes(
    kernel: Kernel, name: str, home: Module, bindings: Sequence[Binding], later: tuple[Function, Binding]
) -> Finding:
    function, binding = later
    return Finding(
        path=kernel.path,
        span=kernel.span,
        code=CODE,
        severity=Severity.WARNING,
        message=(
            f"`{kernel.name}` reads the global `{name}`, which `{function.qualname}` reassigns: the next launch "
            "after that raises RuntimeError"
        ),
        advice=f"make `{name}` a `tl.constexpr` parameter of the kernel: each value then gets its own variant",
        facts=_facts(kernel, name),
        trail=(
            Step(home.path, bindings[-1].line, f"`{name}` is set"),
            Step(home.path, binding.line, f"`{function.qualname}` assigns it again"),
        ),
    )


def _facts(kernel: Kernel, name: str) -> Facts:
    return Facts(kernel=kernel.name, kernel_place=Place(kernel.path, kernel.span.line), parameter=name)

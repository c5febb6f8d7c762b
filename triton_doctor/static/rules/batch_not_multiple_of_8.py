"""TRD501: a training batch whose size leaves part of the matrix units idle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Severity, Span
from triton_doctor.static.python.ir import Attr, Call, Const, Expr, Name, Subscript, TupleExpr, final_name
from triton_doctor.static.python.printing import spell
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import Binding, CallSite, Function
    from triton_doctor.static.python.module import Module

CODE = "TRD501"
# Matrix units process half precision in steps of 8 elements.
STEP = 8
# Options of transformers.TrainingArguments.
_OPTIONS = frozenset({b"per_device_train_batch_size", b"per_device_eval_batch_size"})
_MAKERS = frozenset("randint randn rand zeros ones empty".split())


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each option of a trainer, and for each tensor fed to a training step, where it is created."""
    for module in project.subjects():
        if module.path in project.tests:
            continue  # deliberately small
        whole = module.top
        has_options, has_steps = any(map(whole.holds, _OPTIONS)), whole.holds(b"backward")
        for function in module.functions.values() if has_options or has_steps else ():
            if has_options and any(map(function.holds, _OPTIONS)):
                yield from _options(module, function)
            if has_steps and function.holds(b"backward") and _trains(function):
                yield from _tensors(module, function)


def _trains(function: Function) -> bool:
    return any(isinstance(site.call.func, Attr) and site.call.func.name == "backward" for site in function.calls)


def _options(module: Module, function: Function) -> Iterator[Finding]:
    for site in function.calls:
        for name, value in site.call.keywords:
            if name is not None and name.encode() in _OPTIONS:
                size = _literal(function, site, value)
                if _is_odd(size):
                    yield _finding(module, site.line, f"`{name}` is {spell(size)}")


def _literal(function: Function, site: CallSite, value: Expr) -> Expr:
    """Return the only expression assigned to a name; else `value`."""
    if isinstance(value, Name):
        found = reaching_definitions(function, value.id, site.order, site.arms)
        if found.certain and len(found.bindings) == 1:
            return found.bindings[0].value
    return value


def _tensors(module: Module, function: Function) -> Iterator[Finding]:
    """Yield tensors created with a literal first axis and then passed to something bound here: the model."""
    given = {
        name
        for site in function.calls
        if isinstance(site.call.func, Name) and site.call.func.id in function.bindings
        for argument in site.call.args
        if (name := _tensor(argument, function)) is not None
    }
    for name in sorted(given):
        for binding in function.bindings.get(name, ()):
            size = _first_axis(binding)
            if size is not None and _is_odd(size):
                yield _finding(module, binding.line, f"the batch `{name}` has {spell(size)} samples")


def _tensor(argument: Expr, function: Function) -> str | None:
    """Return the name of the tensor argument, itself or a slice of it."""
    for _ in range(2):
        if isinstance(argument, Subscript):
            argument = argument.base
        bindings = function.bindings.get(argument.id, ()) if isinstance(argument, Name) else ()
        if len(bindings) == 1 and isinstance(bindings[0].value, Subscript):
            argument = bindings[0].value
    return argument.id if isinstance(argument, Name) else None


def _first_axis(binding: Binding) -> Expr | None:
    """Return the size of the first of two or more axes with which a tensor is created."""
    call = binding.value
    if not isinstance(call, Call) or final_name(call.func) not in _MAKERS:
        return None
    shape = next((argument for argument in call.args if isinstance(argument, TupleExpr)), None)
    axes = shape.items if shape is not None else call.args
    return axes[0] if len(axes) > 1 else None


def _is_odd(value: Expr) -> bool:
    return isinstance(value, Const) and type(value.value) is int and value.value > 0 and value.value % STEP != 0


def _finding(module: Module, line: int, what: str) -> Finding:
    return Finding(
        path=module.path,
        span=Span(line, 1, line, 1),
        code=CODE,
        severity=Severity.INFO,
        message=(
            f"{what}, which is not a multiple of {STEP}: matrix units work in steps of {STEP}, so some of them idle"
        ),
        advice=f"try a multiple of {STEP}, and fewer steps of gradient accumulation in exchange",
        facts=Facts(),
    )


RULE = Rule(code=CODE, check=check)

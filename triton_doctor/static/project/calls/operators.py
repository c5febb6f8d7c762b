"""Torch operators: the operators of a function, and the calls of an operator as `torch.ops.space.name(x)`.

A function becomes an operator by a decorator, `@torch.library.custom_op("space::name", ...)`, or by a top-level call
that receives a name and the function: `library.impl("name", function)`. If such a call receives more functions, the
first is the implementation; the others compute shapes or gradients.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.calls.called_names import Caller
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.python.ir import Attr, Call, Const, Name, dotted, final_name
from triton_doctor.static.sources.source_text import TextPattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module

_OPERATOR = re.compile(r"(?:(\w+)::)?(\w+)(?:\.\w+)?(?:\(.*)?", re.DOTALL)
# Functions that add something other than an implementation to an operator (torch 2.13 library.py).
_DESCRIBING = frozenset(
    "register_fake register_autograd register_vmap register_autocast register_torch_dispatch impl_abstract "
    "impl_backward impl_save_for_backward define".split()
)
# Decorators that return a function and store it nowhere.
_KEEPING_NOTHING = frozenset(
    "autotune jit heuristics compile cache lru_cache wraps no_grad inference_mode enable_grad set_grad_enabled "
    "autocast custom_fwd custom_bwd contextmanager".split()
)
_SIGNS = (b"::", b"impl", b"custom_op")
_BEFORE = re.compile(rb"(?<=\.)")
_AFTER = re.compile(rb"(?![A-Za-z0-9_])")


@cached_in_scan()
def operators(module: Module) -> Mapping[str, tuple[str, ...]]:
    """Return the operators of each top-level function of `module`, by its name: `space::name`, or `::name`."""
    top = module.top
    found: dict[str, list[str]] = {}
    for function in module.functions.values():
        if function.parent == "<module>" and function.class_name is None:
            for decorator in function.decorators:
                if isinstance(decorator, Call) and (operator := _operator_of(decorator)) is not None:
                    found.setdefault(function.name, []).append(operator)
    for site in top.calls if top.calls and any(map(top.holds, _SIGNS)) else ():
        operator = _operator_of(site.call.func if isinstance(site.call.func, Call) else site.call)
        given = (
            argument.id
            for argument in _arguments(site.call)
            if isinstance(argument, Name) and argument.id in module.functions
        )
        registered = next(given, None) if operator is not None else None
        if registered is not None and operator is not None:
            found.setdefault(registered, []).append(operator)
    return {name: tuple(dict.fromkeys(names)) for name, names in found.items()}


def only_registers(call: Call, name: str) -> bool:
    """Return whether `call` only makes the function `name` an operator or extends one: `scale.register_autograd(f)`."""
    if isinstance(call.func, Attr) and call.func.base == Name(name):
        return call.func.name in _DESCRIBING
    operator = _operator_of(call.func if isinstance(call.func, Call) else call)
    return operator is not None and Name(name) in _arguments(call)


def describes(decorator: Expr, name: str) -> bool:
    """Return whether `decorator` extends the operator `name`: `@scale.register_fake`."""
    func = decorator.func if isinstance(decorator, Call) else decorator
    return isinstance(func, Attr) and func.base == Name(name) and func.name in _DESCRIBING


def may_register(decorator: Expr) -> bool:
    """Return whether a decorator may store the function for others to call, as `@register("scale")` does."""
    match decorator:
        case Call(func):
            return final_name(func) not in _KEEPING_NOTHING
        case _:
            return False


def _operator_of(call: Call) -> str | None:
    """Return the operator whose name a call of torch, or of a wrapper of it, receives."""
    last = final_name(call.func)
    if last in _DESCRIBING:
        return None
    texts = [
        argument.value
        for argument in _arguments(call)
        if isinstance(argument, Const) and isinstance(argument.value, str)
    ]
    wanted = texts[0] if texts and (last == "impl" or "custom_op" in last or "::" in texts[0]) else ""
    match = _OPERATOR.fullmatch(wanted)
    return f"{match[1] or ''}::{match[2]}" if match else None


def _arguments(call: Call) -> Iterator[Expr]:
    yield from call.args
    yield from (value for name, value in call.keywords if name is not None)


@cached_in_scan()
def operator_pattern(operator: str) -> TextPattern:
    """Return a pattern that matches every use of the operator by its name."""
    return TextPattern(operator.rpartition("::")[2], _BEFORE, _AFTER)


@cached_in_scan()
def operator_calls(module: Module, operator: str) -> tuple[Caller, ...]:
    """Return the calls of the operator in `module`, including those through names and attributes bound to it."""
    pattern = operator_pattern(operator)
    top = module.top
    named = [function for function in module.functions.values() if function.matches(pattern)]
    kept = {name for function in named for name in _kept(function, operator, is_top=function is top)}
    return tuple(
        Caller(module, function, site)
        for function in (module.functions.values() if kept else named)
        for site in function.calls
        if _is_operator(site.call.func, operator) or _names_one(site.call.func, kept, function)
    )


def _kept(function: Function, operator: str, *, is_top: bool) -> Iterator[str]:
    """Yield the names that `function` binds to the operator: attributes, module names and local names."""
    for name, bindings in function.bindings.items():
        if len(bindings) == 1 and _is_operator(bindings[0].value, operator):
            yield name if is_top else f"{function.qualname}.{name}"
    yield from (f".{stored.name}" for stored in function.stored if _is_operator(stored.value, operator))


def _names_one(func: Expr, kept: set[str], function: Function) -> bool:
    match func:
        case Name(name):
            own = function.parent is not None and function.binds(name)
            return (f"{function.qualname}.{name}" if own else name) in kept
        case Attr(Name("self" | "cls"), name):
            return f".{name}" in kept
        case _:
            return False


def _is_operator(expr: Expr, operator: str) -> bool:
    """Return whether `expr` is `torch.ops.space.name` or its `.default`; any space if `operator` has none."""
    parts = (dotted(expr) or "").removesuffix(".default").split(".")
    space, _, name = operator.rpartition("::")
    return len(parts) > 2 and parts[-3] == "ops" and parts[-1] == name and space in ("", parts[-2])


def read_operator_calls(module: Module, operator: str) -> tuple[str, ...]:
    """Return the qualified names of the functions of `module` that call the operator, once for each call."""
    return tuple(caller.function.qualname for caller in operator_calls(module, operator))


OPERATOR_CALLS = declare_query("operator calls", read_operator_calls, operator_pattern)

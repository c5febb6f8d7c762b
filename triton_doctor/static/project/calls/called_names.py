"""The names by which calls refer to functions, and the calls of a name in a module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.project.launches.argument_positions import needs_no_object
from triton_doctor.static.python.ir import Attr, Expr, Name, dotted, final_name
from triton_doctor.static.sources.source_text import TextPattern

if TYPE_CHECKING:
    from triton_doctor.static.python.function import CallSite, Function
    from triton_doctor.static.python.module import Module

# A name, or `apply` of it, and the parenthesis; between them whitespace, comments and closing parentheses.
_BETWEEN = rb"(?:[\s\\)]|#[^\n]*\n)*"
_BEFORE = re.compile(rb"(?<![A-Za-z0-9_])(?<!def )")
_RENAMED = re.compile(rb"[\s\\]+as[\s\\]")
_AFTER = re.compile(rb"(?:" + _BETWEEN + rb"\." + _BETWEEN + rb"apply)?" + _BETWEEN + rb"\(")


class Caller(NamedTuple):
    """A call, and the function that contains it."""

    module: Module
    function: Function
    site: CallSite


class CalledName(NamedTuple):
    """What a call refers to, as far as its module tells: a dotted `name`.

    `local` is the qualified name of a function of that module: one nested in the caller, a method of its class, or a
    static method of a class that it names. `is_own` says that it can be nothing else than such a method.
    """

    name: str
    local: str | None
    is_own: bool


def called_name(module: Module, function: Function, func: Expr) -> CalledName | None:
    """Return what calling `func` in `function` of `module` refers to; None if `func` is no dotted name."""
    name = dotted(func)
    if name is None:
        return None
    local, is_own = None, False
    match func:
        case Name(own):
            local = f"{function.qualname}.<locals>.{own}"
        case Attr(Name("self" | "cls"), own) if function.class_name is not None:
            local, is_own = f"{function.class_name}.{own}", True
        case Attr(Name(owner), own) if owner in module.classes and owner not in function.bindings:
            method = module.functions.get(f"{owner}.{own}")
            local = method.qualname if method is not None and needs_no_object(method) else None
        case _:
            pass
    return CalledName(name, local if local in module.functions else None, is_own)


def read_calls(module: Module, name: str) -> tuple[CalledName | None, ...]:
    """Return what each call of `calls_of` refers to; None for one that is no dotted name."""
    return tuple(called_name(module, caller.function, caller.site.call.func) for caller in calls_of(module, name))


@cached_in_scan()
def calls_of(module: Module, name: str) -> tuple[Caller, ...]:
    """Return the calls in `module` whose last name is `name`.

    `forward` of an autograd class is called by the class's name.
    """
    pattern = call_pattern(name)
    return tuple(
        Caller(module, function, site)
        for function in module.functions.values()
        if function.matches(pattern)
        for site in function.calls
        if _called(site.call.func) == name
    )


@cached_in_scan()
def call_pattern(name: str) -> TextPattern:
    """Return a pattern that matches every call of `name`, but not its definition."""
    return TextPattern(name, _BEFORE, _AFTER)


CALLS = declare_query("calls", read_calls, call_pattern)


def _called(func: Expr) -> str:
    name = final_name(func)
    return final_name(func.base) if name == "apply" and isinstance(func, Attr) else name


def read_aliases(module: Module, name: str) -> tuple[str, ...]:
    """Return the other names under which `module` imports `name`: `run` for `from kernels import scale as run`."""
    return tuple(alias for alias, imported in module.imports.items() if imported.member == name != alias)


@cached_in_scan()
def _alias_pattern(name: str) -> TextPattern:
    return TextPattern(name, _BEFORE, _RENAMED)


ALIASES = declare_query("import aliases", read_aliases, _alias_pattern)

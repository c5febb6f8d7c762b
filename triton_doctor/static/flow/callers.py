"""Functions to the calls that reach them, anywhere in the project."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.expression import Attr, Call, Expr, Name, Star, dotted
from triton_doctor.static.model import Class
from triton_doctor.static.model_function import Function

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.static.model import Module, Project
    from triton_doctor.static.model_function import CallSite

# A name, or `apply` of it, and the parenthesis: between them what may stand between any two tokens, or closes others.
_BETWEEN = rb"(?:[\s\\)]|#[^\n]*\n)*"
_CALLING = rb"%b(?<![A-Za-z0-9_]%b)(?<!def %b)(?:" + _BETWEEN + rb"\." + _BETWEEN + rb"apply)?" + _BETWEEN + rb"\("


class Caller(NamedTuple):
    """A call, and the function that makes it."""

    module: Module
    function: Function
    site: CallSite


class Callers:
    """Looks up calls, but for those of tests, in the files that can name what they call, as they are asked for."""

    def __init__(self, project: Project) -> None:
        """Nothing is looked up yet."""
        self._project = project

    def of(self, module: Module, function: Function) -> Iterator[Caller]:
        """The calls that reach `function` of `module`, by path and place."""
        wanted, tests = function.name, self._project.tests
        homes: Iterable[Module] = (module,)
        if function.class_name is not None and function.name == "forward":
            wanted = function.class_name.rpartition(".")[2]
            homes = self._project.modules.naming(wanted, module.path, f"{wanted}.apply", calling(wanted), but=tests)
        elif function.parent == "<module>" and function.class_name is None:
            homes = self._project.modules.naming(wanted, module.path, wanted, calling(wanted), but=tests)
        for home in homes:
            if home.path in tests:
                # What a test passes says little of what a program does.
                continue
            for caller in calls_of(home, wanted):
                if self.reached(home, caller.function, caller.site.call.func) is function:
                    yield caller

    def reached(self, module: Module, function: Function, func: Expr) -> Function | None:
        """The function of the project that calling `func` there runs; None if it is none, or not to be told."""
        names = self._project.names
        match func:
            case Name(name):
                local = module.functions.get(f"{function.qualname}.<locals>.{name}")
                if local is not None:
                    return local
            case Attr(Name("self" | "cls"), name) if function.class_name is not None:
                return module.functions.get(f"{function.class_name}.{name}")
            case _:
                pass
        full = dotted(func)
        if full is None:
            return None
        base, _, last = full.rpartition(".")
        if last == "apply" and base:
            owner = names.dotted(module, base)
            return self._method(owner, "forward") if isinstance(owner, Class) else None
        found = names.dotted(module, full)
        return found if isinstance(found, Function) else None

    def _method(self, owner: Class, name: str) -> Function | None:
        return self._project.names.home_of_class(owner).functions.get(f"{owner.qualname}.{name}")


@lru_cache(maxsize=1 << 16)
def calls_of(module: Module, name: str) -> tuple[Caller, ...]:
    """The calls in `module` of what has `name` last: `forward` of an autograd class goes by the name of the class."""
    pattern = calling(name)
    return tuple(
        Caller(module, function, site)
        for function in module.functions.values()
        if function.matches(pattern)
        for site in function.calls
        if _called(site.call.func) == name
    )


@lru_cache(maxsize=4096)
def calling(name: str) -> re.Pattern[bytes]:
    """What the text of every call of `name` has, and that of its definition has not."""
    word = re.escape(name.encode())
    return re.compile(_CALLING % (word, word, word))


def _called(func: Expr) -> str | None:
    name = _last(func)
    return _last(func.base) if name == "apply" and isinstance(func, Attr) else name


def _last(expr: Expr) -> str | None:
    match expr:
        case Name(name) | Attr(_, name):
            return name
        case _:
            return None


def bind(function: Function, call: Call) -> dict[str, Expr]:
    """Which argument of `call` goes to which parameter of `function`; what stars hide is left out."""
    positional = [param for param in function.params if not param.keyword_only and not param.variadic]
    bound: dict[str, Expr] = {}
    for param, arg in zip(positional[_implicit(function) :], call.args, strict=False):
        if isinstance(arg, Star):
            break
        bound[param.name] = arg
    names = {param.name for param in function.params}
    for name, value in call.keywords:
        if name is not None and name in names:
            bound[name] = value
    return bound


def _implicit(function: Function) -> int:
    """How many leading parameters a call does not spell out: `self`, `cls`, or an autograd function's `ctx`."""
    if function.class_name is None:
        return 0
    static = any(_last(decorator) == "staticmethod" for decorator in function.decorators)
    if static:
        return 1 if function.name in ("forward", "backward") else 0
    return 1

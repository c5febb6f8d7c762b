"""Calls of a function through a variable in the same module: `self.attend = attention`, later `self.attend(q)`.

A function is stored in a name, or in an attribute of `self` or a class; alone, as one of two, or wrapped by `partial`
or `torch.compile`. The function may be `apply` of a class: `self.scale = Scale.apply`.

Example: with `run = partial(scale, factor=2)` and `run(x)` in a function, the call of `scale` is `scale(x, factor=2)`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.calls.called_names import Caller, call_pattern
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.project.names.resolver import apply_pattern
from triton_doctor.static.python.ir import Attr, Call, Compare, Conditional, Const, Name, dotted, final_name
from triton_doctor.static.sources.source_text import TextPattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.python.function import CallSite, Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module

# Wrappers: their result runs the function with the arguments of the call.
_WRAPS = frozenset("partial compile disable staticmethod allow_in_graph cache lru_cache".split())
# Functions that call their first argument with the others (torch 2.13 utils/checkpoint.py).
_RUNS = frozenset({"checkpoint"})
# The context of a value that is bound or passed; on a line of its own, before a closing parenthesis.
_BEFORE = re.compile(rb"(?<==)|(?<== )|(?<=\()|(?<=else )|(?<=[ \t])(?=\w+\s*\n\s*\))")
_AFTER = re.compile(rb"(?![A-Za-z0-9_])(?!\s*[(.\[=:])")


@cached_in_scan()
def value_use_pattern(word: str) -> TextPattern:
    """Return a pattern that matches every use of the function `word` other than calling it."""
    return TextPattern(word, _BEFORE, _AFTER)


@cached_in_scan()
def stored_function_calls(module: Module, word: str) -> tuple[Caller, ...]:
    """Return the calls in `module` of variables that store the function `word`, as calls of the function."""
    return _StoredFunction(module, word, value_use_pattern(word)).calls()


@cached_in_scan()
def stored_apply_calls(module: Module, class_name: str) -> tuple[Caller, ...]:
    """Return the calls in `module` of variables in functions that store `apply` of the class."""
    return _StoredFunction(module, class_name, apply_pattern(class_name), is_applied=True).calls()


class _StoredFunction:
    """The variables of one module that store a function called `word`, or `apply` of a class called so.

    Uses match `pattern`. For `apply`, names of the top level are left to `applied_names`.

    `_kept` are names of the top level, names in functions (prefixed by the qualified name), and attributes (prefixed by
    the class and `self`), each with the call of `partial` that created it, if any.
    """

    def __init__(self, module: Module, word: str, pattern: TextPattern, *, is_applied: bool = False) -> None:
        self._module = module
        self._stored = Attr(Name(word), "apply") if is_applied else Name(word)
        self._kept: dict[str, Call | None] = {}
        self._showing = [
            function
            for function in module.functions.values()
            if function.matches(pattern)
            and not (function.parent is not None and function.binds(word))
            and not (is_applied and function is module.top)
        ]

    def calls(self) -> tuple[Caller, ...]:
        for function in self._showing:
            self._keep(function)
        for class_ in self._module.classes.values() if self._showing else ():
            for name, binding in class_.fields.items():
                self._add(f"{class_.qualname}.self.{name}", binding.value)
        found = [call for function in self._showing for call in self._run(function)]
        names = {key.rpartition(".")[2] for key in self._kept}
        for function in self._module.functions.values() if names else ():
            if any(_may_call(function, name) for name in names):
                found += [Caller(self._module, function, site) for site in self._called(function)]
        return tuple(found)

    def _keep(self, function: Function) -> None:
        for name, bindings in function.bindings.items():
            for binding in bindings:
                self._add(name if function.name == "<module>" else f"{function.qualname}.{name}", binding.value)
        for stored in function.stored:
            if stored.base == "self":
                self._add(f"{function.class_name}.self.{stored.name}", stored.value)

    def _add(self, key: str, value: Expr) -> None:
        found, wrapped = self._is_kept(value)
        if found:
            self._kept[key] = wrapped

    def _is_kept(self, value: Expr) -> tuple[bool, Call | None]:
        """Return whether `value` stores the function, and the call of `partial` around it."""
        match value:
            case Conditional(test, options):
                if isinstance(test, Compare):  # as by size: each function's arguments are bounded by that test
                    return False, None
                return any(self._is_kept(option)[0] for option in options), None
            case Call(func, (first, *_), _) if final_name(func) in _WRAPS:
                return self._is_kept(first)[0], value
            case Name() | Attr():
                return value == self._stored, None
            case _:
                return False, None

    def _run(self, function: Function) -> Iterator[Caller]:
        """Yield the calls of `checkpoint(scale, x)` in `function`, as `scale(x)`."""
        for site in function.calls:
            match site.call:
                case Call(func, (first, *rest), keywords) if (dotted(func) or "").rpartition(".")[
                    2
                ] in _RUNS and self._is_kept(first) == (True, None):
                    yield Caller(self._module, function, site._replace(call=Call(first, tuple(rest), keywords)))
                case _:
                    pass

    def _called(self, function: Function) -> Iterator[CallSite]:
        """Yield the calls of stored functions in `function`, with the arguments of `partial` added."""
        for site in function.calls:
            key = self._key(function, site.call.func)
            if key not in self._kept:
                continue
            wrapped = self._kept[key]
            if wrapped is None:
                yield site
            elif "." not in key or key.startswith(f"{function.qualname}."):
                args, named = (*wrapped.args[1:], *site.call.args), (*wrapped.keywords, *site.call.keywords)
                yield site._replace(call=Call(site.call.func, args, named))
            elif len(wrapped.args) == 1:  # its other arguments are not known here
                yield site

    def _key(self, function: Function, func: Expr) -> str:
        match func:
            case Name(name):
                return f"{function.qualname}.{name}" if function.parent is not None and function.binds(name) else name
            case Attr(Name("self" | "cls"), name) | Call(Name("getattr"), (Name("self"), Const(str(name)), *_), _):
                return f"{function.class_name}.self.{name}"
            case _:
                return ""


def _may_call(function: Function, name: str) -> bool:
    return function.matches(call_pattern(name)) or (function.holds(b"getattr") and function.holds(name.encode()))


def read_stored_function_calls(module: Module, word: str) -> tuple[str, ...]:
    """Return the functions that call a variable storing the function `word`, once a call, as qualified names."""
    return tuple(caller.function.qualname for caller in stored_function_calls(module, word))


def read_stored_apply_calls(module: Module, class_name: str) -> tuple[str, ...]:
    """Return the functions that call a variable storing `apply` of the class, once a call, as qualified names."""
    return tuple(caller.function.qualname for caller in stored_apply_calls(module, class_name))


STORED_APPLY_CALLS = declare_query("calls of what keeps apply", read_stored_apply_calls, apply_pattern)
STORED_FUNCTION_CALLS = declare_query("calls of what keeps a function", read_stored_function_calls, value_use_pattern)

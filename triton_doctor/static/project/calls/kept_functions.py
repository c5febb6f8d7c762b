"""Functions to the calls of what they are kept in, inside one module: `self.attend = attention`, `self.attend(q)`.

A function is kept in a name, or an attribute of `self` or a class; as it is, as one of two, or wrapped by `partial` or
`torch.compile`.
Example: of `run = partial(scale, factor=2)` and `run(x)` in a function, the call of `scale` is `scale(x, factor=2)`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.calls.called_names import Caller, calling
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.python.ir import Attr, Call, Compare, Conditional, Const, Name, dotted, final_name
from triton_doctor.static.sources.source_text import TextPattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.python.function import CallSite, Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module

# What these give back runs the function that they are given with the arguments of the call.
_WRAPS = frozenset("partial compile disable staticmethod allow_in_graph cache lru_cache".split())
# These run their first argument with those that follow (torch 2.13 utils/checkpoint.py).
_RUNS = frozenset({"checkpoint"})
# Where a value stands that is bound or passed.
_BEFORE = re.compile(rb"(?<==)|(?<== )|(?<=\()|(?<=else )")
_AFTER = re.compile(rb"(?![A-Za-z0-9_])(?!\s*[(.\[=:])")


@cached_in_scan()
def keeping(word: str) -> TextPattern:
    """What the text has that uses the function `word` otherwise than by calling it."""
    return TextPattern(word, _BEFORE, _AFTER)


@cached_in_scan()
def kept_calls(module: Module, word: str) -> tuple[Caller, ...]:
    """The calls in `module` of what keeps the function `word`, each as if it called the function itself."""
    return _Keeping(module, word).calls()


class _Keeping:
    """What keeps a function called `word` in one module.

    `_kept` are names at the top level, names of functions behind their qualified names, and attributes behind those of
    their classes and `self`; with the call of `partial` that made them, if one did.
    """

    def __init__(self, module: Module, word: str) -> None:
        self._module = module
        self._word = word
        self._kept: dict[str, Call | None] = {}
        self._showing = [
            function
            for function in module.functions.values()
            if function.matches(keeping(word)) and not (function.parent is not None and function.binds(word))
        ]

    def calls(self) -> tuple[Caller, ...]:
        for function in self._showing:
            self._keep(function)
        for one in self._module.classes.values() if self._showing else ():
            for name, binding in one.fields.items():
                self._add(f"{one.qualname}.self.{name}", binding.value)
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
        """Whether `value` is what is kept, and the call of `partial` around it."""
        match value:
            case Conditional(test, options):
                if isinstance(test, Compare):  # of sizes, say: what each is called with is bounded by it
                    return False, None
                return any(self._is_kept(option)[0] for option in options), None
            case Call(func, (first, *_), _) if final_name(func) in _WRAPS:
                return self._is_kept(first)[0], value
            case Name(name):
                return name == self._word, None
            case _:
                return False, None

    def _run(self, function: Function) -> Iterator[Caller]:
        """The calls of `checkpoint(scale, x)` in `function`, as `scale(x)`."""
        for site in function.calls:
            match site.call:
                case Call(func, (first, *rest), keywords) if (dotted(func) or "").rpartition(".")[
                    2
                ] in _RUNS and self._is_kept(first) == (True, None):
                    yield Caller(self._module, function, site._replace(call=Call(first, tuple(rest), keywords)))
                case _:
                    pass

    def _called(self, function: Function) -> Iterator[CallSite]:
        """The calls of what is kept in `function`, with what `partial` was given."""
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
            elif len(wrapped.args) == 1:  # what else it is given is not seen from here
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
    return function.matches(calling(name)) or (function.holds(b"getattr") and function.holds(name.encode()))


def read_kept_calls(module: Module, word: str) -> tuple[str, ...]:
    """The qualified names of the functions that call what keeps the function `word`, once for each call."""
    return tuple(caller.function.qualname for caller in kept_calls(module, word))


KEPT_CALLS = declare_query("calls of what keeps a function", read_kept_calls, keeping)

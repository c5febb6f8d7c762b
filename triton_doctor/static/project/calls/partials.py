"""Functions to the calls of what their module makes of them: `launch = functools.partial(run, kernel)`, `launch(x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Call, Name, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.python.function import CallSite, Function
    from triton_doctor.static.python.module import Module

_PARTIAL = frozenset({"partial", "functools.partial"})


@cached_in_scan()
def partials_of(module: Module) -> tuple[tuple[str, str, Call], ...]:
    """The names that the top level of `module` gives to partials of functions, with that function and the call."""
    top = module.functions.get("<module>")
    if top is None or not top.holds(b"partial"):
        return ()
    found = []
    for name, bindings in top.bindings.items():
        match [one.value for one in bindings]:
            case [Call(func, (Name(wrapped), *_)) as made] if dotted(func) in _PARTIAL:
                found.append((name, wrapped, made))
            case _:
                pass
    return tuple(found)


def calls_of_partials(module: Module, function: Function) -> Iterator[tuple[Function, CallSite]]:
    """The calls in `module` of partials of its own `function`, as calls of that with all that it is given."""
    if function.parent != "<module>" or function.class_name is not None:
        return
    for name, wrapped, made in partials_of(module):
        if wrapped != function.name:
            continue
        for caller in module.functions.values():
            if name in caller.bindings and caller.name != "<module>":
                continue
            for site in caller.calls if caller.holds(name.encode()) else ():
                if site.call.func == Name(name):
                    whole = Call(made.args[0], (*made.args[1:], *site.call.args), (*made.keywords, *site.call.keywords))
                    yield caller, site._replace(call=whole)

"""A kernel's name to the files that may define or launch it.

A file may launch a kernel without naming it: `KERNELS["fwd"][grid](...)` names the table that holds it, and `launch(x,
kernel)` passes it to a function. So the names of such tables and functions are searched for in turn.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Attr, Expr, Name, every_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.module import Module

_BUILTINS = frozenset(dir(builtins))


def find_mentions(database: Database, name: str) -> list[str]:
    """Return the files of `database`, by path, that may define or launch the kernel `name`."""
    subjects = [path for path in database.subjects() if database.is_code(path)]
    names, pending, found = {name}, {name}, set[str]()
    while pending:
        words = [name.encode() for name in pending]
        carried = set[str]()
        for path in subjects:
            text = database.python[path]
            if any(word in text for word in words):
                found.add(path)
                module = database.module(path)
                if module is not None:
                    carried.update(_carriers(module, pending))
        pending = carried - names
        names |= pending
    return sorted(found)


def _carriers(module: Module, names: set[str]) -> Iterator[str]:
    """Yield the names by which other files may reach what `names` stand for in `module`."""
    for local, imported in module.imports.items():
        if imported.member in names:
            yield local
    for class_ in module.classes.values():
        yield from (field for field, binding in class_.fields.items() if _mentions(binding.value, names))
    words = [name.encode() for name in names]
    for function in module.functions.values():
        if any(map(function.holds, words)):
            yield from _carriers_of(function, names)


def _carriers_of(function: Function, names: set[str]) -> Iterator[str]:
    own = set(names)
    for name, bindings in function.bindings.items():
        if any(_mentions(binding.value, own) for binding in bindings):
            own.add(name)
            if function.name == "<module>" or name in function.globals:
                yield name
    for stored in function.stored:
        if _mentions(stored.value, own):
            yield from (stored.base, stored.name) if function.name == "<module>" else (stored.name,)
    if any(_mentions(returned.value, own) for returned in function.returns):
        yield function.name
    for site in function.calls:
        given = (*site.call.args, *(value for _, value in site.call.keywords))
        match site.call.func:
            case Name(callee) | Attr(_, callee) if callee not in _BUILTINS and any(
                _mentions(value, own) for value in given
            ):
                yield callee


def _mentions(expr: Expr, names: set[str]) -> bool:
    """Return whether `expr` contains one of `names`."""
    for part in every_part(expr):
        match part:
            case Name(name) | Attr(_, name) if name in names:
                return True
            case _:
                pass
    return False

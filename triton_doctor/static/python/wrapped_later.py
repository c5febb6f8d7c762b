"""Functions that a later statement makes kernels, and kernels that it tunes: `triton.autotune(...)(kernel)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.python.decorators import decorator_name
from triton_doctor.static.python.ir import Call, Name
from triton_doctor.static.python.kernels import is_jit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.python.function import Binding, CallSite
    from triton_doctor.static.python.imports import Imports
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.sources.source_text import SourceText


def wrapped_by_jit(calls: Sequence[CallSite], source: SourceText, imports: Imports) -> dict[str, tuple[Expr, ...]]:
    """Return the functions that a later statement passes to jit: `fast = triton.jit(plain)`."""
    wrapped: dict[str, tuple[Expr, ...]] = {}
    for site in calls if b"jit(" in source.text else ():
        call = site.call
        if call.args and isinstance(call.args[0], Name) and is_jit(call.func, imports):
            wrapped[call.args[0].id] = (call.func,)
    return wrapped


def tuned_by_call(
    calls: Sequence[CallSite], bindings: Mapping[str, Sequence[Binding]], source: SourceText
) -> Mapping[str, Sequence[tuple[Expr, Span]]]:
    """Return the wrappers of kernels that a later statement tunes: `plain = triton.autotune(...)(plain)`.

    What stands in a branch does not count: a flag may leave the kernel as it is. Neither does a kernel that has another
    name once it is tuned, if the file uses its own name for more: it may be launched untuned. Several tuners of one
    kernel count if all have the same key.
    """
    found: dict[str, list[Sequence[tuple[Expr, Span]]]] = {}
    renamed = set[str]()
    for site in calls if b"autotune(" in source.text else ():
        name, wrappers = _wrappers(site.call)
        is_tuned = bool(wrappers) and decorator_name(wrappers[0]).rpartition(".")[2] == "autotune"
        if not is_tuned or site.arms or site.span is None:
            continue
        found.setdefault(name, []).append([(wrapper, site.span) for wrapper in wrappers])
        if all(binding.value != site.call for binding in bindings.get(name, ())):
            renamed.add(name)
    return {
        name: [wrapper for wrappers in tuned for wrapper in wrappers]
        for name, tuned in found.items()
        if len({_key(wrappers[0][0]) for wrappers in tuned}) == 1
        and (name not in renamed or len(re.findall(rf"\b{name}\b".encode(), source.text)) == 1 + len(tuned))
    }


def _wrappers(expr: Expr) -> tuple[str, tuple[Expr, ...]]:
    """Return `kernel` and its wrappers for `triton.autotune(...)(triton.heuristics(...)(kernel))`, outermost first."""
    match expr:
        case Call(Call() as wrapper, (Name(name),), ()):
            return name, (wrapper,)
        case Call(Call() as wrapper, (Call() as inner,), ()):
            name, wrappers = _wrappers(inner)
            return name, (wrapper, *wrappers) if wrappers else ()
        case _:
            return "", ()


def _key(tuner: Expr) -> Expr | None:
    return dict(tuner.keywords).get("key") if isinstance(tuner, Call) else None

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
    """Return the tuning of kernels that a later statement tunes: `plain = triton.autotune(...)(plain)`.

    A kernel that has another name once it is tuned counts only if the file uses its own name for nothing else: it may
    be launched without tuning too.
    """
    found: dict[str, list[tuple[Expr, Span]]] = {}
    renamed = set[str]()
    for site in calls if b"autotune(" in source.text else ():
        match site.call:
            case Call(Call() as tuner, (Name(name),), ()) if (
                decorator_name(tuner).rpartition(".")[2] == "autotune" and site.span
            ):
                found.setdefault(name, []).append((tuner, site.span))
                if all(one.value != site.call for one in bindings.get(name, ())):
                    renamed.add(name)
            case _:
                pass
    for name in renamed:
        if len(re.findall(rf"\b{name}\b".encode(), source.text)) > 1 + len(found[name]):
            del found[name]
    return found

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

# How often a file has the name of a kernel that it defines and tunes, and does nothing else with.
_DEFINED_AND_TUNED = 2


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

    What stands in a branch does not count: a flag may leave the kernel as it is. Neither does a kernel that has another
    name once it is tuned, if the file uses its own name for more: it may be launched untuned, or tuned otherwise too.
    """
    found: dict[str, tuple[tuple[Expr, Span]]] = {}
    for site in calls if b"autotune(" in source.text else ():
        match site.call:
            case Call(Call() as tuner, (Name(name),), ()) if not site.arms and site.span is not None:
                is_renamed = all(one.value != site.call for one in bindings.get(name, ()))
                if decorator_name(tuner).rpartition(".")[2] != "autotune":
                    continue
                if not is_renamed or len(re.findall(rf"\b{name}\b".encode(), source.text)) == _DEFINED_AND_TUNED:
                    found[name] = ((tuner, site.span),)
            case _:
                pass
    return found

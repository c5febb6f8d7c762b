"""Whether everything that uses a function is of one kind, such as methods of an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.calls.reachability import outermost
from triton_doctor.static.project.limits import MOST_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.static.project.calls.reachability import Reachability
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.module import Module


def is_used_only_by(
    kind: Callable[[Module, Function], bool | None],
    reachability: Reachability,
    module: Module,
    function: Function,
    depth: int = MOST_DEPTH,
) -> bool:
    """Return whether `function` of `module` is of a kind, or every function that uses it is.

    `kind` returns True for a function of that kind, False for one that is certainly not, and None if its users decide.
    Functions that nothing runs do not count. False if nothing else uses it, if a package exports it, or beyond `depth`.
    """
    function = outermost(module, function)
    known = kind(module, function)
    if known is not None:
        return known
    is_used = False
    for user in reachability.users(module, function) if depth > 0 else ():
        if user is not None and is_used_only_by(kind, reachability, *user, depth - 1):
            is_used = True
        elif user is None or reachability.reaches(*user):
            return False
    return is_used

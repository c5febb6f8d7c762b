"""Caches of kernels that libraries keep beside Triton's: emptied after each point, so that the next one shows all.

Such a cache is on an object that launches as a kernel does (`KernelInterface`), and that stands on the stack when its
kernel compiles.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

    from triton_doctor.runtime.event import Event

DEEPEST = 3


class Wrappers:
    """The launching objects that were on the stack while kernels were made; their caches are emptied at the end."""

    def __init__(self) -> None:
        self._found: dict[int, Any] = {}

    def __enter__(self) -> Wrappers:
        from triton_doctor.runtime import hooks

        hooks.attach(self._look, count_launches=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        from triton_doctor.runtime import hooks

        hooks.detach(self._look)
        for wrapper in self._found.values():
            for held in vars(wrapper).values():
                _empty(held, DEEPEST)

    def _look(self, event: Event) -> None:
        from triton.runtime.jit import KernelInterface

        frame = sys._getframe(1)
        while frame.f_back is not None:
            frame = frame.f_back
            wrapper = frame.f_locals.get("self")
            package = type(wrapper).__module__.partition(".")[0]
            if package != "triton" and isinstance(wrapper, KernelInterface):
                self._found[id(wrapper)] = wrapper


def _empty(held: Any, depth: int) -> None:
    """Clear the dicts in `held` that cache compiled kernels."""
    if isinstance(held, dict):
        if any(map(_keeps_kernel, held.values())):
            held.clear()
            return
        inner = list(held.values())
    else:
        inner = list(held) if isinstance(held, tuple | list) else []
    if depth:
        for each in inner:
            _empty(each, depth - 1)


def _keeps_kernel(value: Any) -> bool:
    from triton.compiler.compiler import CompiledKernel

    return isinstance(value, CompiledKernel) or (
        isinstance(value, tuple | list) and any(isinstance(each, CompiledKernel) for each in value)
    )

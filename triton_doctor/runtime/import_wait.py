"""Calling back once triton is imported, so that a program which never imports it pays nothing."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

WAITED_FOR = "triton"


def when_triton_arrives(call: Callable[[], None]) -> Callable[[], None]:
    """Call `call`, which must not raise, once Triton is fully imported, or now if it is.

    Returns a function that cancels the wait.
    """
    if WAITED_FOR in sys.modules:
        call()
        return lambda: None
    finder = _Finder(call)
    sys.meta_path.insert(0, finder)
    return finder.leave


class _Finder:
    """Stands before all finders, finds nothing itself, and sees which module is asked for."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def leave(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != WAITED_FOR:
            return None
        self.leave()
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            sys.meta_path.insert(0, self)
            return spec
        loader: Any = spec.loader

        def execute_and_call(module: Any) -> None:
            # An attribute of this loader alone, over its class's method: gone as soon as it is called.
            del loader.exec_module
            try:
                loader.exec_module(module)
            except BaseException:
                # Whoever tries again may have more luck.
                sys.meta_path.insert(0, self)
                raise
            self._call()

        loader.exec_module = execute_and_call
        return spec

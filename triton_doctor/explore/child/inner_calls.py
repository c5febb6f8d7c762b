"""What an entry passes to other functions of the project that reach a launch: their ints, and axes of their tensors.

A value is kept as a part of a kernel's key is, under the name of the function that was called, so that a sweep explains
it by the axes of the entry in the same way: `n_rows` of `_forward` is `batch*length` of `norm(x)`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

import torch

from triton_doctor.runtime.dry.sweep.observation import ProbedPart, ProbedVariant
from triton_doctor.runtime.event import KernelName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    from triton_doctor.runtime.dry.sweep.size_formulas import Value

ARGUMENT = "argument"
# A loop that calls a function more often shows the same again.
MOST_CALLS = 64


class InnerCalls:
    """The functions and methods of the project, other than the entry itself, whose names lead to a launch."""

    def __init__(self, root: str, leading_names: Iterable[str], entry: str) -> None:
        self._names, self._entry = frozenset(leading_names), entry
        self._heard: list[ProbedVariant] = []
        self._patches: list[tuple[Any, str, Any, Any]] = []
        modules = [module for module in list(sys.modules.values()) if _is_inside(module, root)]
        inside = {module.__name__ for module in modules}
        watched: dict[int, Callable[..., Any]] = {}
        for module in modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, FunctionType) and value.__module__ in inside and self._is_leading(value):
                    if id(value) not in watched:
                        watched[id(value)] = self._watch(value, f"{value.__module__}:{value.__qualname__}", 0)
                    self._patches.append((module, name, value, watched[id(value)]))
                elif inspect.isclass(value) and value.__module__ == module.__name__:
                    self._add_methods(value)

    @contextlib.contextmanager
    def listen(self) -> Iterator[list[ProbedVariant]]:
        """Note what is passed to the functions meanwhile. The list is complete at the end."""
        self._heard = []
        for owner, name, _, watching in self._patches:
            setattr(owner, name, watching)
        try:
            yield self._heard
        finally:
            for owner, name, value, _ in self._patches:
                setattr(owner, name, value)

    def _is_leading(self, function: FunctionType) -> bool:
        return function.__name__ in self._names and "<" not in function.__qualname__

    def _add_methods(self, cls: type) -> None:
        is_entry = issubclass(cls, torch.nn.Module | torch.autograd.Function)
        for name, value in list(vars(cls).items()):
            function = getattr(value, "__func__", value)
            if not isinstance(function, FunctionType) or name == "backward" or name.startswith("__"):
                continue
            key, is_leading = f"{cls.__module__}:{cls.__qualname__}.{name}", name in self._names
            if is_entry and name == "forward":
                key, is_leading = f"{cls.__module__}:{cls.__qualname__}", cls.__name__ in self._names
            if is_leading:
                watching: Any = self._watch(function, key, 0 if isinstance(value, staticmethod) and not is_entry else 1)
                if function is not value:
                    watching = type(value)(watching)
                self._patches.append((cls, name, value, watching))

    def _watch(self, function: Callable[..., Any], key: str, skip: int) -> Callable[..., Any]:
        """Return `function`, which notes its arguments after the first `skip`."""
        if key == self._entry:
            return function
        called = KernelName(name=key, module="", path="", line=0)
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if len(self._heard) < MOST_CALLS:
                # A call that does not fit raises below, as it would.
                with contextlib.suppress(TypeError):
                    given = list(signature.bind(*args, **kwargs).arguments.items())[skip:]
                    parts = tuple(part for name, value in given for part in _parts(name, value))
                    self._heard.append(ProbedVariant(kernel=called, site=None, parts=parts, integers=()))
            return function(*args, **kwargs)

        return call


def _parts(name: str, value: Any) -> Iterator[tuple[ProbedPart, Value]]:
    if type(value) in (int, float):
        yield ProbedPart(ARGUMENT, name), value
    elif isinstance(value, torch.Tensor):
        for axis, size in enumerate(value.shape):
            if type(size) is int:
                yield ProbedPart(ARGUMENT, f"{name}.{axis}"), size
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            if isinstance(item, torch.Tensor):
                yield from _parts(f"{name}.{index}", item)


def _is_inside(module: ModuleType, root: str) -> bool:
    path = getattr(module, "__file__", None)
    return isinstance(path, str) and os.path.realpath(path).startswith(f"{os.path.realpath(root)}/")

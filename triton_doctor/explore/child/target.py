"""The live object of an entry: what is called, and the functions whose parameters make up a call."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import torch

from triton_doctor.explore.child.state import CONSTRUCTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from triton_doctor.explore.model import EntryKind, SweepEntry

NO_PARAMETERS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is called: a function, or `forward` or a method of `owner`.

    `constructor` has the parameters of `owner`, None where nothing is constructed; `parameters` those of the call.
    """

    kind: EntryKind
    owner: Any
    called: Callable[..., Any]
    constructor: Mapping[str, inspect.Parameter] | None
    parameters: Mapping[str, inspect.Parameter]

    def functions(self) -> list[tuple[str, Callable[..., Any], Mapping[str, inspect.Parameter]]]:
        """Return the functions that take arguments, the constructor first: each with the start of its paths."""
        called = ("", self.called, self.parameters)
        if self.constructor is None:
            return [called]
        return [(CONSTRUCTOR, constructor_of(self.owner), self.constructor), called]


def resolve(entry: SweepEntry, module: ModuleType) -> Target:
    """Return the live object of `entry`. Raises LookupError where `module` has none that can be called."""
    try:
        found: Any = attrgetter(entry.name)(module)
    except AttributeError as error:
        raise LookupError(f"{entry.module} has no {entry.name}") from error
    if not callable(found):
        raise LookupError(f"{entry.key} cannot be called")
    applied = getattr(found, "__self__", None)
    if inspect.isclass(applied) and issubclass(applied, torch.autograd.Function):
        found = applied
    if inspect.isclass(found):
        return _resolve_class(found)
    if "." not in entry.name:
        return Target(kind="function", owner=None, called=found, constructor=None, parameters=parameters_of(found))
    owner_name, _, name = entry.name.rpartition(".")
    owner = attrgetter(owner_name)(module)
    if isinstance(inspect.getattr_static(owner, name), staticmethod | classmethod):
        return Target(kind="method", owner=owner, called=found, constructor=None, parameters=parameters_of(found))
    return _make_method(owner, found)


def _resolve_class(found: Any) -> Target:
    if issubclass(found, torch.autograd.Function):
        # With a `setup_context` of its own, forward has no ctx.
        skip = int(found.setup_context is torch.autograd.Function.setup_context)
        taken = parameters_of(found.forward, skip=skip)
        return Target(kind="autograd", owner=found, called=found.forward, constructor=None, parameters=taken)
    if issubclass(found, torch.optim.Optimizer):
        return _make_method(found, found.step, "optimizer")
    if issubclass(found, torch.nn.Module):
        return _make_method(found, found.forward, "module")
    if "__call__" in vars(found):
        return _make_method(found, found.__call__)
    raise LookupError(f"{found.__qualname__} is a class without __call__")


def _make_method(owner: Any, called: Callable[..., Any], kind: EntryKind = "method") -> Target:
    taken = parameters_of(called, skip=1)
    return Target(kind=kind, owner=owner, called=called, constructor=class_parameters(owner), parameters=taken)


def constructor_of(cls: Any) -> Callable[..., Any]:
    """Return the function that takes the arguments of the constructor of `cls`."""
    function: Callable[..., Any] = cls.__init__ if cls.__init__ is not object.__init__ else cls.__new__
    return function


def parameters_of(function: Any, *, skip: int = 0) -> dict[str, inspect.Parameter]:
    """Return the parameters of `function` by name, without the first `skip`."""
    try:
        # What torch.library.custom_op makes keeps the function that it was given.
        found = inspect.signature(getattr(function, "_init_fn", function)).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {parameter.name: parameter for parameter in list(found)[skip:] if parameter.kind not in NO_PARAMETERS}


def class_parameters(cls: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of the constructor of `cls` by name."""
    return parameters_of(cls)

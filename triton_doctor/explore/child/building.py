"""Arguments made from their specs, and which object came from which argument."""

from __future__ import annotations

import enum
import importlib
import inspect
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from triton_doctor.explore.child.running_source import code_of
from triton_doctor.explore.child.state import FLOAT, Spec, State
from triton_doctor.explore.child.target import class_parameters, constructor_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType

# What a tensor is given to the right of, so that lengths do not go beyond.
LENGTH = 32


class BuiltCall:
    """The arguments of one call.

    `origins` are the paths of the objects made, by their id; `constructing` are paths of those whose constructor runs,
    with its code.
    `instance` is the object that was called. `state` learns the attributes that the code reads off its configs.
    """

    def __init__(self, state: State, guess_attribute: Callable[[State, str], Spec]) -> None:
        self.state = state
        self.origins: dict[int, str] = {}
        self.constructing: list[tuple[str, CodeType | None]] = []
        self.instance: Any = None
        self._guess_attribute = guess_attribute
        self._kept: list[Any] = []

    def remember(self, made: Any, path: str) -> Any:
        """Note that `made` is of the argument `path`, and keep it, so that no other object gets its id."""
        self.origins[id(made)] = path
        self._kept.append(made)
        return made

    def origin(self, value: Any) -> str | None:
        """Return the argument that `value` is, or a tensor of the same rank was computed from."""
        found = self.origins.get(id(value))
        if found is None and isinstance(value, torch.Tensor):
            found = getattr(value, "_explored_from", None)
        return found

    def make(self, path: str) -> Any:
        """Return the argument `path`, newly made."""
        spec = self.state.specs[path]
        match spec.kind:
            case "tensor":
                tensor = self._make_tensor(spec)
                tensor._explored_from = path
                return self.remember(tensor, path)
            case "int":
                return self.state.size(spec.axes[0]) if spec.axes else spec.value
            case "list":
                children = list(self.state.children(path).values())
                if spec.axes:
                    children = children[:1] * max(0, self.state.size(spec.axes[0]))
                items = [self.make(child) for child in children]
                return self.remember(tuple(items) if spec.value == "tuple" else items, path)
            case "dtype":
                return getattr(torch, str(spec.value))
            case "device":
                return torch.device("cuda")
            case "callable":
                return _return_first
            case "config":
                return self.remember(MadeConfig(self, path), path)
            case "enum":
                return locate_class(spec.cls)[spec.value]
            case "object":
                return self.remember(self.construct(locate_class(spec.cls), path), path)
            case "none" | "default":
                return None
            case "bool" | "float" | "str":
                return spec.value

    def construct(self, cls: Any, path: str) -> Any:
        """Return an object of `cls`, whose constructor's arguments are those below `path`."""
        args, kwargs = self.arguments(path, class_parameters(cls))
        self.constructing.append((path, code_of(constructor_of(cls))))
        with torch.device("cuda"):
            made = cls(*args, **kwargs)
        self.constructing.pop()
        if isinstance(made, torch.nn.Module):
            made = made.to(device="cuda", dtype=None if self.state.dtype == "float32" else self.float_dtype)
        return made

    def arguments(self, path: str, parameters: Mapping[str, inspect.Parameter]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments at or below `path` (empty: of the call) for `parameters`."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, parameter in parameters.items():
            child = f"{path}.{name}" if path else name
            spec = self.state.specs.get(child)
            is_omitted = spec is None or spec.kind == "default"
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                args.append(parameter.default if is_omitted else self.make(child))
            elif not is_omitted:
                kwargs[name] = self.make(child)
        return args, kwargs

    @property
    def float_dtype(self) -> torch.dtype:
        """Return the dtype of floating tensors."""
        dtype: torch.dtype = getattr(torch, self.state.dtype)
        return dtype

    def _make_tensor(self, spec: Spec) -> Any:
        shape = tuple(max(0, self.state.size(symbol)) for symbol in spec.axes)
        dtype = self.float_dtype if spec.dtype == FLOAT else getattr(torch, spec.dtype)
        if dtype.is_floating_point or dtype.is_complex:
            made = torch.empty(shape, dtype=dtype, device="cuda")
            is_trained = spec.wants_gradient and dtype.itemsize > 1
            return made.requires_grad_() if is_trained else made
        if spec.fill == "offsets" and len(shape) == 1 and shape[0]:
            total, steps = self._longest_axis(), max(shape[0] - 1, 1)
            return torch.tensor([total * step // steps for step in range(shape[0])], dtype=dtype, device="cuda")
        value = LENGTH if spec.fill == "lengths" else int(dtype is torch.bool)
        return torch.full(shape, value, dtype=dtype, device="cuda")

    def _longest_axis(self) -> int:
        """Return the largest first axis of the floating tensors: what offsets end at."""
        floating = (spec for spec in self.state.specs.values() if spec.kind == "tensor" and spec.dtype == FLOAT)
        return max((self.state.size(spec.axes[0]) for spec in floating if spec.axes), default=1)

    def read_attribute(self, path: str, name: str) -> Any:
        """Return the attribute `name` of the config `path`, guessed by its name where the state has none yet."""
        child = f"{path}.{name}"
        if child not in self.state.specs:
            self.state.specs[child] = self._guess_attribute(self.state, child)
        return self.make(child)


class MadeConfig:
    """An object whose attributes are made up as they are read."""

    def __init__(self, built: BuiltCall, path: str) -> None:
        self.__dict__["_explored"] = (built, path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        built, path = self._explored
        return built.read_attribute(path, name)

    def __getitem__(self, name: Any) -> Any:
        return getattr(self, str(name))


class Origins(TorchFunctionMode):  # type: ignore[misc]
    """While entered, a tensor that is computed from another one of the same rank remembers that one's argument."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func`."""
        result = func(*args, **(kwargs or {}))
        path = getattr(args[0], "_explored_from", None) if args and isinstance(args[0], torch.Tensor) else None
        if path is not None:
            for made in result if isinstance(result, tuple | list) else (result,):
                is_new = isinstance(made, torch.Tensor) and not hasattr(made, "_explored_from")
                if is_new and made.dim() == args[0].dim():
                    made._explored_from = path
        return result


def locate_class(name: str) -> Any:
    """Return the class `module:qualname`."""
    module, _, qualname = name.partition(":")
    return attrgetter(qualname)(importlib.import_module(module))


def name_class(cls: Any) -> str:
    """Return `module:qualname` of `cls`; empty where that would not find it."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    try:
        return name if locate_class(name) is cls else ""
    except (ImportError, AttributeError):
        return ""


def is_enum(cls: Any) -> bool:
    """Return whether `cls` is an enumeration with members."""
    return inspect.isclass(cls) and issubclass(cls, enum.Enum) and len(cls) > 0


def _return_first(*args: Any, **_: Any) -> Any:
    return args[0] if args else None

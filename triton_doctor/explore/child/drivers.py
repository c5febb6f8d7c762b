"""A state to Python: a function of its sizes that makes the arguments and the call, and a test that sweeps it."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import torch

from triton_doctor.errors import DoctorError
from triton_doctor.explore.child.building import LENGTH, locate_class
from triton_doctor.explore.child.state import CONSTRUCTOR, FLOAT
from triton_doctor.explore.child.target import class_parameters
from triton_doctor.runtime.dry.sweep import sweep
from triton_doctor.runtime.sweep_event import CONSTEXPR, TUNING_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.explore.child.state import Spec, State
    from triton_doctor.explore.child.target import Target
    from triton_doctor.explore.model import SweepEntry
    from triton_doctor.runtime.dry.sweep.swept import Sweep

WIDTH = 88
INDENT = "    "
# Sizes of an axis in a test, and axes that it varies.
SIZES, AXES = 5, 3


class DriverText:
    """Writes the driver of one state. `names` are the names of its symbols, as parameters of the driver."""

    def __init__(self, target: Target, entry: SweepEntry, state: State, names: Mapping[str, str]) -> None:
        self._target, self._entry, self._state, self._names = target, entry, state, names
        self._imports: dict[str, None] = {"import torch": None}
        self._lines: list[str] = []
        self._taken = set(names.values())

    def arguments(self) -> dict[str, str]:
        """Return each argument of the call and of its constructor as text, those left out missing."""
        return {
            path: self._expression(path)
            for path, spec in self._state.specs.items()
            if spec.kind != "default" and "." not in path.removeprefix(CONSTRUCTOR)
        }

    def write(self, name: str) -> str:
        """Return the driver, a function called `name`."""
        result = self._call()
        body = [*self._lines, *_wrap("return ", result)] if result else self._lines
        text = "\n".join(body)
        parameters = [
            f"{self._names[symbol]}: int = {self._state.size(symbol)}"
            for symbol in self._state.free
            if re.search(rf"\b{self._names[symbol]}\b", text)
        ]
        head = _wrap(f"def {name}", f"({', '.join(parameters)})", " -> object:")
        imports = sorted(self._imports, key=lambda line: (line != "import torch", line))
        inner = [*imports, "", *body]
        return "\n".join([*head, *(f"{INDENT}{line}" if line else "" for line in inner)]) + "\n"

    def _call(self) -> str:
        """Return the text of the call, after the lines that make what it needs."""
        target, cls = self._target, None
        if target.kind != "function":
            cls = self._import(target.owner.__module__, target.owner.__qualname__)
        if target.kind == "optimizer":
            return self._step(cls or "")
        if target.kind == "function":
            called = self._import(self._entry.module, self._entry.name)
        elif target.kind == "autograd":
            given = [self._given(name, parameter) for name, parameter in target.parameters.items()]
            return f"{cls}.apply({', '.join(given)})"
        elif target.constructor is None:
            called = f"{cls}.{target.called.__name__}"
        else:
            made = self._construct(target.owner, cls or "", CONSTRUCTOR, target.constructor)
            instance = self._assign("module" if target.kind == "module" else "instance", made, on_gpu=True)
            called = instance if target.kind == "module" else f"{instance}.{target.called.__name__}"
        return f"{called}({', '.join(self._keywords('', target.parameters))})"

    def _step(self, cls: str) -> str:
        first, *rest = self._target.constructor or {}
        parameters = self._assign("parameters", self._expression(f"{CONSTRUCTOR}{first}"))
        given = [
            f"{name}={self._expression(f'{CONSTRUCTOR}{name}')}" for name in rest if self._is_given(CONSTRUCTOR, name)
        ]
        optimizer = self._assign("optimizer", f"{cls}({', '.join([parameters, *given])})")
        self._lines += [
            "for _ in range(2):",
            f"{INDENT}for parameter in {parameters}:",
            f"{INDENT * 2}parameter.grad = torch.empty_like(parameter)",
            f"{INDENT}{optimizer}.step()",
        ]
        return ""

    def _construct(self, owner: Any, cls: str, start: str, parameters: Mapping[str, inspect.Parameter]) -> str:
        text = f"{cls}({', '.join(self._keywords(start, parameters))})"
        if isinstance(owner, type) and issubclass(owner, torch.nn.Module):
            dtype = "" if self._state.dtype == "float32" else f", dtype=torch.{self._state.dtype}"
            return f'{text}.to(device="cuda"{dtype})'
        return text

    def _keywords(self, start: str, parameters: Mapping[str, inspect.Parameter]) -> list[str]:
        """Return the arguments at `start`, the tensors of the call in variables."""
        given = []
        for name, parameter in parameters.items():
            is_positional = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
            if self._is_given(start, name) or is_positional:
                text = self._given(name, parameter, start)
                given.append(text if is_positional else f"{name}={text}")
        return given

    def _given(self, name: str, parameter: inspect.Parameter, start: str = "") -> str:
        if not self._is_given(start, name):
            default = parameter.default
            return repr(default) if isinstance(default, bool | int | float | str) else "None"
        text = self._expression(f"{start}{name}")
        is_long = self._state.specs[f"{start}{name}"].kind in ("tensor", "list", "object", "config")
        return self._assign(name, text) if is_long and not start else text

    def _is_given(self, start: str, name: str) -> bool:
        spec = self._state.specs.get(f"{start}{name}")
        return spec is not None and spec.kind != "default"

    def _assign(self, wanted: str, text: str, *, on_gpu: bool = False) -> str:
        name = wanted
        while name in self._taken:
            name = f"{name}_"
        self._taken.add(name)
        lines = _wrap(f"{name} = ", text)
        self._lines += ['with torch.device("cuda"):', *(f"{INDENT}{line}" for line in lines)] if on_gpu else lines
        return name

    def _import(self, module: str, qualname: str) -> str:
        top = qualname.partition(".")[0]
        self._imports[f"from {module} import {top}"] = None
        self._taken.add(top)
        return qualname

    def _expression(self, path: str) -> str:
        """Return the argument `path` as an expression."""
        spec = self._state.specs[path]
        children = self._state.children(path)
        match spec.kind:
            case "tensor":
                return self._tensor(spec)
            case "int":
                return self._size(spec.axes[0]) if spec.axes else repr(spec.value)
            case "list":
                if spec.axes:
                    item, count = self._expression(next(iter(children.values()))), self._size(spec.axes[0])
                    items = f"{item} for _ in range({count})"
                    return f"tuple({items})" if spec.value == "tuple" else f"[{items}]"
                items = ", ".join(map(self._expression, children.values()))
                if spec.value == "tuple":
                    return f"({items},)" if len(children) == 1 else f"({items})"
                return f"[{items}]"
            case "dtype":
                return f"torch.{spec.value}"
            case "device":
                return 'torch.device("cuda")'
            case "callable":
                return "lambda first, *_: first"
            case "config":
                self._imports["from types import SimpleNamespace"] = None
                return (
                    f"SimpleNamespace({', '.join(f'{name}={self._expression(at)}' for name, at in children.items())})"
                )
            case "enum" | "object":
                cls = locate_class(spec.cls)
                name = self._import(*spec.cls.split(":"))
                if spec.kind == "enum":
                    return f"{name}[{spec.value!r}]"
                return self._construct(cls, name, f"{path}.", class_parameters(cls))
            case "none" | "default":
                return "None"
            case "bool" | "float" | "str":
                return repr(spec.value)

    def _tensor(self, spec: Spec) -> str:
        shape = [self._size(symbol) for symbol in spec.axes]
        name = self._state.dtype if spec.dtype == FLOAT else spec.dtype
        dtype = getattr(torch, name)
        written = "" if name == "float32" else f", dtype=torch.{name}"
        inside = f"({', '.join(shape)}{',' if len(shape) == 1 else ''})"
        if dtype.is_floating_point or dtype.is_complex:
            trained = ", requires_grad=True" if spec.wants_gradient and dtype.itemsize > 1 else ""
            return f'torch.empty({", ".join(shape) or "()"}{written}, device="cuda"{trained})'
        if spec.fill == "offsets" and len(shape) == 1:
            total = self._longest_axis()
            values = f"[{total} * step // max({shape[0]} - 1, 1) for step in range({shape[0]})]"
            return f'torch.tensor({values}{written}, device="cuda")'
        value = LENGTH if spec.fill == "lengths" else dtype is torch.bool or 0
        return f'torch.full({inside}, {value}{written}, device="cuda")'

    def _longest_axis(self) -> str:
        floating = [spec for spec in self._state.specs.values() if spec.kind == "tensor" and spec.dtype == FLOAT]
        firsts = [spec.axes[0] for spec in floating if spec.axes]
        return self._size(max(firsts, key=self._state.size)) if firsts else "1"

    def _size(self, symbol: str) -> str:
        return self._names.get(symbol, str(self._state.size(symbol)))


def write_test(name: str, driver: str, sizes: Mapping[str, Sequence[int]]) -> str:
    """Return a test that the driver passes now: its variants at some `sizes`, and the formulas. Empty where none does.

    The driver is swept as the test will do it.
    """
    namespace: dict[str, Any] = {}
    exec(compile(driver, f"<{name}>", "exec"), namespace)
    taken = inspect.signature(namespace[name]).parameters
    usable = {axis: tuple(sorted(_spread(own))) for axis, own in sizes.items() if axis in taken and len(own) > 1}
    several = dict(list(usable.items())[:AXES])
    for chosen in (several, *({axis: own} for axis, own in several.items())):
        if chosen:
            try:
                swept = sweep(namespace[name], chosen)
            except DoctorError:
                continue
            if not swept.stopped and swept.kernels:
                return _write_asserts(name, chosen, swept)
    return ""


def _write_asserts(name: str, sizes: Mapping[str, tuple[int, ...]], swept: Sweep) -> str:
    lines = [f"def test_{name}() -> None:", f"{INDENT}sizes = {{"]
    lines += [f'{INDENT * 2}"{axis}": {list(own)},' for axis, own in sizes.items()]
    lines += [f"{INDENT}}}", f"{INDENT}swept = triton_doctor.sweep({name}, sizes)", ""]
    counts: dict[str, int] = {}
    for kernel in swept.kernels:
        counts[kernel.name.name] = max(counts.get(kernel.name.name, 0), kernel.needs)
    lines += [f'{INDENT}swept.assert_bounded("{kernel}", {count})' for kernel, count in counts.items()]
    formulas = {
        (moved.kernel.name, moved.part.name): str(moved.explanation.formula)
        for moved in swept.moved
        if moved.explanation.formula is not None and moved.part.kind in (CONSTEXPR, TUNING_KEY)
    }
    if formulas:
        lines += [
            f"{INDENT}formulas = {{",
            f"{INDENT * 2}(moved.kernel.name, moved.part.name): str(moved.explanation.formula)",
            f"{INDENT * 2}for moved in swept.moved",
            f"{INDENT}}}",
        ]
        lines += [
            f'{INDENT}assert formulas["{kernel}", "{part}"] == "{formula}"'
            for (kernel, part), formula in formulas.items()
        ]
    return "\n".join(lines) + "\n"


def _spread(sizes: Sequence[int]) -> set[int]:
    """Return the first of `sizes`, and others of all magnitudes."""
    rest = sorted(sizes[1:])
    return {sizes[0], *(rest[number * (len(rest) - 1) // (SIZES - 2)] for number in range(SIZES - 1))}


def _wrap(start: str, text: str, end: str = "") -> list[str]:
    """Return `start`, `text` and `end` on one line, or with each argument of the outermost call on its own."""
    if len(start) + len(text) + len(end) <= WIDTH or "(" not in text or not text.endswith(")"):
        return [f"{start}{text}{end}"]
    opened = text.index("(")
    arguments, depth, current = [], 0, ""
    for character in text[opened + 1 : -1]:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            # The last call is not the first one: `Cls(...).to(...)`.
            return [f"{start}{text}{end}"]
        if character == "," and not depth:
            arguments.append(current.strip())
            current = ""
        else:
            current += character
    arguments.append(current.strip())
    return [f"{start}{text[: opened + 1]}", *(f"{INDENT}{argument}," for argument in arguments if argument), f"){end}"]

"""The first guess of an entry's arguments: by type hints, defaults, what the source says of them, and their names."""

from __future__ import annotations

import contextlib
import inspect
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from triton_doctor.explore.child import naming
from triton_doctor.explore.child.building import is_enum, locate_class, name_class
from triton_doctor.explore.child.running_source import definition_of
from triton_doctor.explore.child.state import CONSTRUCTOR, FLOATING, Spec, State
from triton_doctor.explore.child.target import class_parameters
from triton_doctor.explore.model import FunctionNotes, ParameterNotes

if typing.TYPE_CHECKING:
    from triton_doctor.explore.child.target import Target

EMPTY = inspect.Parameter.empty
NOTHING = ParameterNotes()
# Constructor arguments that are objects with constructor arguments that are objects.
DEEPEST = 3
# Letters that are sizes more often than tensors.
SIZE_LETTERS = frozenset("BCHLMNST")


class Notes:
    """What the parent read in the source of functions, by the live function."""

    def __init__(self, notes: Iterable[FunctionNotes], root: str) -> None:
        self._root = f"{os.path.realpath(root)}{os.sep}"
        self._by_place = {(note.path, note.line): note.parameters for note in notes}
        self._inside: dict[str, bool] = {}

    def is_inside(self, path: str) -> bool:
        """Return whether a file is one of the project."""
        if path not in self._inside:
            self._inside[path] = os.path.realpath(path).startswith(self._root)
        return self._inside[path]

    def relative(self, path: str) -> str:
        """Return the path of a file relative to the project."""
        return os.path.realpath(path).removeprefix(self._root)

    def of(self, function: Any) -> Mapping[str, ParameterNotes]:
        """Return the notes of the parameters of `function`."""
        node = definition_of(function)
        if node is None:
            return {}
        path = inspect.unwrap(getattr(function, "_init_fn", function)).__code__.co_filename
        return self._by_place.get((self.relative(path), node.lineno), {})


class Guesser:
    """Makes specs, and the symbols that they need, in the state that it is given."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes

    def first_state(self, target: Target) -> State:
        """Return the first guess for a whole call."""
        state = State(note="first")
        for start, function, parameters in target.functions():
            self._add_parameters(state, start, function, parameters)
        if target.kind == "optimizer" and state.specs:
            first = next(iter(state.specs))
            self.add_list(state, first)
            state.specs[f"{first}.0"] = self.tensor(
                state, "parameter", ParameterNotes(rank=2, axes={0: "rows", 1: "cols"})
            )
        return state

    def _add_parameters(
        self, state: State, start: str, function: Any, parameters: Mapping[str, inspect.Parameter], depth: int = 0
    ) -> None:
        """Add a spec for each parameter, below `start`: first those whose rank is known, since they name sizes."""
        notes, hints = self.notes.of(function), hints_of(function)
        for name in parameters:
            state.specs[f"{start}{name}"] = Spec(kind="none")
        for name in sorted(parameters, key=lambda name: -notes.get(name, NOTHING).rank):
            parameter = parameters[name]
            hint = hints.get(name, parameter.annotation)
            self.add(state, f"{start}{name}", hint, parameter.default, notes.get(name, NOTHING), depth)

    def add(self, state: State, path: str, hint: Any, default: Any, notes: ParameterNotes, depth: int = 0) -> None:
        """Set the argument `path` of `state`, and what is below it."""
        if default is not EMPTY:
            is_size = type(default) is int and default > 1
            state.set_spec(path, new_integer(state, path, default) if is_size else Spec(kind="default"))
            return
        cls = self._class_of(hint, notes)
        if cls is not None and depth < DEEPEST:
            self.add_object(state, path, cls, depth)
            return
        item = _item_of(hint)
        if item is not None or notes.kind == "list":
            is_tuple = typing.get_origin(_not_none(hint)) is tuple
            items = item if isinstance(item, tuple) else (item,)
            self.add_list(state, path, "tuple" if is_tuple else "list", has_length=not isinstance(item, tuple))
            for index, each in enumerate(items):
                self.add(state, f"{path}.{index}", EMPTY if each is None else each, EMPTY, _without_kind(notes), depth)
            return
        state.set_spec(path, self.spec(state, path, hint, notes))

    def _class_of(self, hint: Any, notes: ParameterNotes) -> Any:
        """Return the class of the project that an argument is an object of, by its type or by what is read off it."""
        cls = _class_in(hint)
        if inspect.isclass(cls) and self._is_constructed(cls):
            return cls
        for name in notes.classes if kind_of("", hint, notes) in ("object", "config", "") else ():
            with contextlib.suppress(Exception):  # whatever importing its module raises
                if self._is_constructed(locate_class(name)):
                    return locate_class(name)
        return None

    def add_list(self, state: State, path: str, kind: str = "list", *, has_length: bool = True) -> None:
        """Make `path` a list, to whose items the caller adds a first one, or all if it has no length of its own."""
        state.set_spec(path, Spec(kind="list", value=kind))
        if has_length:
            symbol = f"length of {path}"
            state.sizes[symbol] = naming.choose_size("batch", state.sizes.values())
            state.specs[path] = Spec(kind="list", value=kind, axes=(symbol,))

    def add_object(self, state: State, path: str, cls: Any, depth: int = 0) -> None:
        """Make `path` an object of `cls`, with the arguments of its constructor below it."""
        state.set_spec(path, Spec(kind="object", cls=name_class(cls)))
        self._add_parameters(state, f"{path}.", cls.__init__, class_parameters(cls), depth + 1)

    def _is_constructed(self, cls: Any) -> bool:
        """Return whether an argument of this class is made by its constructor: it is of the project, or a record."""
        if is_enum(cls) or issubclass(cls, torch.Tensor) or not name_class(cls):
            return False
        try:
            return self.notes.is_inside(inspect.getfile(cls)) and not inspect.isabstract(cls)
        except (TypeError, OSError):
            return False

    def spec(self, state: State, path: str, hint: Any, notes: ParameterNotes) -> Spec:
        """Return the spec of an argument that is neither an object of the project nor a list."""
        name = path.rpartition(".")[2]
        kind = kind_of(name, hint, notes)
        if kind == "tensor":
            return self.tensor(state, path, notes)
        if kind == "int":
            return self.integer(state, path, notes)
        if kind == "enum":
            cls = _class_in(hint)
            return Spec(kind="enum", cls=name_class(cls), value=next(iter(cls)).name)
        if kind == "str":
            literals = typing.get_args(_not_none(hint)) if typing.get_origin(_not_none(hint)) is typing.Literal else ()
            choices = [literal for literal in (*literals, *notes.choices) if isinstance(literal, str)]
            return Spec(kind="str", value=choices[0] if choices else "silu")
        if kind == "bool":
            return Spec(kind="bool", value=False)
        if kind == "float":
            return Spec(kind="float", value=0.5)
        if kind == "dtype":
            return Spec(kind="dtype", value="bfloat16")
        return Spec(kind=kind)  # type: ignore[arg-type]

    def tensor(self, state: State, path: str, notes: ParameterNotes = NOTHING, rank: int = 0) -> Spec:
        """Return a tensor with symbols for its axes: by its notes, its name, or as most others are."""
        name = path.rpartition(".")[2]
        if name.isdecimal():
            name = path.split(".")[-2]
        others = [len(spec.axes) for spec in state.specs.values() if spec.kind == "tensor"]
        rank = rank or notes.rank or max(notes.least_rank, naming.usual_rank(name)) or max(others, default=2)
        dtype, fill = naming.usual_dtype(name)
        if notes.dtype:
            is_floating = notes.dtype == "float" or notes.dtype in FLOATING
            dtype, fill = ("float", "") if is_floating else (notes.dtype, fill if dtype != "float" else "zeros")
        return Spec(kind="tensor", axes=self.axes(state, path, rank, notes.axes), dtype=dtype, fill=fill)

    def axes(self, state: State, path: str, rank: int, names: Mapping[int, str]) -> tuple[str, ...]:
        """Return symbols for the axes of a tensor: a name is the same symbol wherever it appears."""
        name = path.rpartition(".")[2]
        is_weight = bool(naming.WEIGHTS.fullmatch(name))
        symbols = []
        for index in range(rank):
            label = names.get(index, names.get(index - rank, ""))
            if label.isidentifier() and label != "_":
                symbol, role = label, naming.role_of(label) or naming.role_at(index, rank)
            elif index == rank - 1:
                symbol, role = "last", "width"
            elif is_weight:
                symbol, role = f"{path}.{index}", "width"
            else:
                symbol, role = f"axis{index}of{rank}", naming.role_at(index, rank)
            if rank == 1 and symbol == "last" and naming.INTEGER_TENSORS.search(name):
                symbol, role = "axis0of1", "length"
            if symbol not in state.sizes:
                state.sizes[symbol] = naming.choose_size(role, state.sizes.values())
            symbols.append(symbol)
        return tuple(symbols)

    def integer(self, state: State, path: str, notes: ParameterNotes = NOTHING) -> Spec:
        """Return an int: the size of the axis of its name, or a usual one."""
        name = path.rpartition(".")[2]
        for symbol in state.sizes:
            if symbol.lower() == name.lower():
                return Spec(kind="int", axes=(symbol,))
        usual = None if path.startswith(CONSTRUCTOR) and name == "dim" else naming.usual_integer(name)
        choices = [int(choice) for choice in notes.choices if choice.lstrip("-").isdecimal()]
        if choices and usual is None:
            usual = choices[0]
        if usual is not None and usual < 2:
            return Spec(kind="int", value=usual)
        size = usual or naming.SIZES[naming.role_of(name) or "heads"][0]
        return new_integer(state, path, size)


ATTRIBUTE_SIZES = (
    (("heads", "groups", "experts", "layers"), 4),
    (("vocab",), 512),
    (("head_dim", "head_size", "d_head"), 64),
    (("hidden", "embd", "embed", "d_model", "intermediate", "dim", "size", "width", "inner"), 256),
    (("max", "len", "chunk", "block", "window", "num", "n_"), 128),
)


def new_integer(state: State, path: str, size: int) -> Spec:
    """Return an int with a symbol of its own."""
    symbol = path.rpartition(".")[2]
    if symbol in state.sizes:
        symbol = f"{path} (int)" if path in state.sizes else path
    state.sizes[symbol] = size
    return Spec(kind="int", axes=(symbol,))


def guess_attribute(state: State, path: str) -> Spec:
    """Return what the attribute `path` of a config is, by its name."""
    name = path.rpartition(".")[2]
    lower = name.lower()
    if any(word in lower for word in ("drop", "prob")):
        return Spec(kind="float", value=0.0)
    if any(word in lower for word in ("eps", "theta", "scale", "factor", "std", "range", "ratio")):
        return Spec(kind="float", value=1.0)
    if naming.FLAGS.fullmatch(name) or "enable" in lower:
        return Spec(kind="bool", value=False)
    if "dtype" in lower:
        return Spec(kind="dtype", value=state.dtype)
    if any(word in lower for word in ("cfg", "config", "args", "params")):
        return Spec(kind="config")
    if "act" in lower and "fact" not in lower:
        return Spec(kind="str", value="silu")
    for words, size in ATTRIBUTE_SIZES:
        if any(word in lower for word in words):
            shared = next((symbol for symbol in state.sizes if symbol.lower() == lower), None)
            return Spec(kind="int", axes=(shared,)) if shared else new_integer(state, path, size)
    return Spec(kind="none")


def hints_of(function: Any) -> dict[str, Any]:
    """Return the type hints of a function, each evaluated alone where some name is missing."""
    function = inspect.unwrap(getattr(function, "_init_fn", function))
    try:
        return typing.get_type_hints(function)
    except Exception:  # names that exist for type checkers only
        pass
    hints = {}
    for name, hint in getattr(function, "__annotations__", {}).items():
        if isinstance(hint, str):
            with contextlib.suppress(Exception):
                hint = eval(hint, dict(getattr(function, "__globals__", {})))
        hints[name] = hint
    return hints


def _not_none(hint: Any) -> Any:
    """Return `X` of `X | None`, the first of several."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        others = [argument for argument in typing.get_args(hint) if argument is not type(None)]
        tensors = [other for other in others if _kind_of_hint(other) == "tensor"]
        return (tensors or others or [hint])[0]
    return hint


def _class_in(hint: Any) -> Any:
    hint = _not_none(hint)
    return hint if inspect.isclass(hint) and typing.get_origin(hint) is None else None


def _item_of(hint: Any) -> Any:
    """Return what a list of this type holds: a type, or one for each item of a tuple; None where it is no list."""
    hint = _not_none(hint)
    origin, given = typing.get_origin(hint), typing.get_args(hint)
    if origin not in (list, tuple, set, frozenset) and getattr(origin, "__name__", "") not in ("Sequence", "Iterable"):
        return EMPTY if hint in (list, tuple) else None
    if origin is tuple and Ellipsis not in given:
        return given
    return given[0] if given else EMPTY


def _without_kind(notes: ParameterNotes) -> ParameterNotes:
    return ParameterNotes(rank=notes.rank, least_rank=notes.least_rank, axes=notes.axes, dtype=notes.dtype)


def kind_of(name: str, hint: Any, notes: ParameterNotes) -> str:
    """Return the kind of a parameter: by its type hint, what the source does with it, or its name."""
    noted = "config" if notes.kind == "object" else notes.kind
    return _kind_of_hint(hint) or noted or _kind_of_name(name, notes)


def _kind_of_hint(hint: Any) -> str:
    """Return the kind of argument that a type hint says; empty where it says none."""
    if hint is EMPTY or hint is Any:
        return ""
    hint = _not_none(hint)
    if typing.get_origin(hint) is typing.Literal:
        return {str: "str", bool: "bool", int: "int"}.get(type(typing.get_args(hint)[0]), "")
    if dict in (hint, typing.get_origin(hint)):
        return "config"
    if hint in (bool, int, float, str):
        return str(hint.__name__)
    if is_enum(hint):
        return "enum"
    text = hint if isinstance(hint, str) else f"{getattr(hint, '__module__', '')}.{getattr(hint, '__name__', hint)}"
    if hint is Callable or "Callable" in text:
        return "callable"
    if "ensor" in text or "jaxtyping" in text or hasattr(hint, "array_type"):
        return "tensor"
    first = text.rpartition(".")[2].removeprefix("Optional[")
    for word in ("dtype", "device", "bool", "int", "float", "str"):
        if first.startswith(word):
            return word
    return "config" if "onfig" in text else ""


def _kind_of_name(name: str, notes: ParameterNotes) -> str:
    """Return the kind of a parameter of which only the name is known."""
    if notes.rank or notes.least_rank or notes.axes:
        return "tensor"
    if name.endswith("dtype"):
        return "dtype"
    if name == "device":
        return "device"
    if name in ("ctx", "mesh", "group", "process_group"):
        return "none"
    if name in ("config", "cfg", "args") or name.endswith(("_config", "_cfg")):
        return "config"
    if name in ("act", "act_fn", "activation_fn", "fn", "func"):
        return "callable"
    if naming.WEIGHTS.fullmatch(name) or naming.INTEGER_TENSORS.search(name):
        return "tensor"
    if naming.FLOATS.fullmatch(name):
        return "float"
    if naming.FLAGS.fullmatch(name):
        return "bool"
    is_number = name in SIZE_LETTERS or (len(name) > 1 and naming.INTEGERS.fullmatch(name))
    return "int" if is_number else "tensor"

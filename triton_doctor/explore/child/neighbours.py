"""Calls that differ from one by a flag, an optional argument, a choice, the dtype or an extreme size."""

from __future__ import annotations

import inspect
import typing
from typing import TYPE_CHECKING, Any

from triton_doctor.explore.child import naming
from triton_doctor.explore.child.changes import StateChanges
from triton_doctor.explore.child.guesses import NOTHING, hints_of, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.explore.child.guesses import Guesser
    from triton_doctor.explore.child.state import State
    from triton_doctor.explore.child.target import Target

MOST_CHOICES = 6
EXTREMES = (("length", 4096), ("length", 1), ("width", 128), ("width", 256))


def neighbours(target: Target, state: State, guesser: Guesser) -> Iterator[State]:
    """Yield the calls, the likeliest to launch something else first."""
    changes = StateChanges(state, guesser)
    for start, function, parameters in target.functions():
        notes, hints = guesser.notes.of(function), hints_of(function)
        for name, parameter in parameters.items():
            path = f"{start}{name}"
            spec = state.specs.get(path)
            if spec is None:
                continue
            value: Any = parameter.default if spec.kind == "default" else spec.value
            if isinstance(value, bool):
                changes.set_value(path, not value)
            elif isinstance(value, str):
                hint = hints.get(name)
                literals = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
                for choice in (*literals, *notes.get(name, NOTHING).choices)[:MOST_CHOICES]:
                    if isinstance(choice, str) and choice != value:
                        changes.set_value(path, choice)
            elif spec.kind == "none" or (spec.kind == "default" and parameter.default is None):
                kind = kind_of(name, hints.get(name, inspect.Parameter.empty), notes.get(name, NOTHING))
                if kind in ("tensor", "int", "float"):
                    new = state.copy(f"{path} is given")
                    new.set_spec(path, guesser.spec(new, path, hints.get(name), notes.get(name, NOTHING)))
                    changes.states.append(new)
    if state.dtype == "float32":
        changes.set_all_dtypes("bfloat16")
    for role, size in EXTREMES:
        for symbol in state.free:
            found = naming.role_of(symbol) or ("length" if symbol.startswith("axis") else "")
            if found == role and state.is_axis(symbol):
                changes.set_size(symbol, size)
    yield from changes.states

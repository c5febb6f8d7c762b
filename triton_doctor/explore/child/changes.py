"""Changes of a state: another rank, kind, dtype, size or value of an argument. Each change is a new state to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import torch

from triton_doctor.explore.child.building import is_enum, name_class
from triton_doctor.explore.child.state import CONSTRUCTOR, FLOAT, FLOATING, Spec, State, Tie

if TYPE_CHECKING:
    from triton_doctor.explore.child.guesses import Guesser
    from triton_doctor.explore.model import Provenance

HIGHEST_RANK = 6
LARGEST_SIZE = 10_000_000


class StateChanges:
    """The states that differ from `state` by what seems to help, the likeliest first."""

    def __init__(self, state: State, guesser: Guesser) -> None:
        self.state, self.guesser = state, guesser
        self.states: list[State] = []

    def _copy(self, note: str) -> State:
        new = self.state.copy(note)
        self.states.append(new)
        return new

    def set_rank(self, path: str | None, rank: int) -> None:
        """Give a tensor another rank, together with those that were guessed like it, and alone."""
        spec = self.state.specs.get(path or "")
        if path is None or spec is None or spec.kind != "tensor" or not 0 <= rank <= HIGHEST_RANK:
            return
        if len(spec.axes) == rank:
            return
        alike = [name for name, each in self.state.specs.items() if each.kind == "tensor" and each.axes == spec.axes]
        for paths in (alike, [path]) if len(alike) > 1 else ([path],):
            new = self._copy(f"rank of {', '.join(paths)} is {rank}")
            axes = self.guesser.axes(new, path, rank, {})
            for each in paths:
                new.specs[each] = msgspec.structs.replace(new.specs[each], axes=axes)

    def make(self, path: str | None, *kinds: str) -> None:
        """Let an argument be of each of `kinds`."""
        if path is None or path not in self.state.specs:
            return
        for kind in kinds:
            if kind == self.state.specs[path].kind:
                continue
            new = self._copy(f"{path} is a {kind}")
            if kind == "tensor":
                new.set_spec(path, self.guesser.tensor(new, path))
            elif kind == "int":
                new.set_spec(path, self.guesser.integer(new, path))
            elif kind == "list":
                self.guesser.add_list(new, path)
                new.specs[f"{path}.0"] = self.guesser.tensor(new, path)
            elif kind == "float":
                new.set_spec(path, Spec(kind="float", value=0.5))
            elif kind == "dtype":
                new.set_spec(path, Spec(kind="dtype", value="bfloat16"))
            else:
                new.set_spec(path, Spec(kind=kind))  # type: ignore[arg-type]

    def set_size(self, symbol: str, size: object) -> None:
        """Give a symbol another size."""
        if type(size) is not int or abs(size) > LARGEST_SIZE:
            return
        if (size < 0 and self.state.is_axis(symbol)) or self.state.size(symbol) == size:
            return
        self._copy(f"{symbol} is {size}").sizes[symbol] = size

    def unify(self, symbol: str, other: str, *, provenance: Provenance = "unknown", what: str = "") -> None:
        """Let every place of `symbol` have `other`, since they must be equal."""
        if symbol == other:
            return
        new = self._copy(f"{symbol} is {other}")
        places = list(new.paths_of(symbol))
        new.rename(symbol, other)
        if what:
            new.ties += (Tie(symbol=other, provenance=provenance, what=what),)
        for place in places:
            kind = new.specs[place].kind
            if kind == "int":
                is_constructor = place.startswith(CONSTRUCTOR) and place.count(".") == 1
                found: Provenance = "constructor" if is_constructor else "config" if "." in place else "input"
                new.ties += (Tie(symbol=other, provenance=found, what=place),)

    def set_axes(self, path: str, axes: tuple[str, ...], sizes: dict[str, int]) -> None:
        """Give a tensor other symbols, some of them new with `sizes`."""
        new = self._copy(f"axes of {path} are {', '.join(axes)}")
        new.sizes |= sizes
        new.specs[path] = msgspec.structs.replace(new.specs[path], axes=axes)

    def set_dtype(self, path: str | None, dtype: torch.dtype) -> None:
        """Give a tensor another dtype, and for a floating one all others, too."""
        spec = self.state.specs.get(path or "")
        if path is None or spec is None:
            return
        name = str(dtype).removeprefix("torch.")
        if spec.kind != "tensor":
            if spec.kind in ("dtype", "default", "none"):
                self._copy(f"{path} is {name}").set_spec(path, Spec(kind="dtype", value=name))
            return
        if name in FLOATING:
            self.set_all_dtypes(name)
            if self.states and spec.dtype != FLOAT:
                new = self.states[-1]
                new.specs[path] = msgspec.structs.replace(spec, dtype=FLOAT, fill="")
        new = self._copy(f"{path} is {name}")
        fill = "" if dtype.is_floating_point else spec.fill or "zeros"
        new.specs[path] = msgspec.structs.replace(spec, dtype=name, fill=fill)

    def set_all_dtypes(self, *names: str) -> None:
        """Give all floating tensors another dtype."""
        for name in names:
            if name != self.state.dtype:
                new = self._copy(f"all {name}")
                new.dtype = name
                for path, spec in new.specs.items():
                    if spec.kind == "tensor" and spec.dtype in FLOATING:
                        new.specs[path] = msgspec.structs.replace(spec, dtype=FLOAT)

    def set_value(self, path: str | None, value: object) -> None:
        """Let an argument be exactly `value`."""
        spec = self.state.specs.get(path or "")
        if path is None or spec is None:
            return
        if isinstance(value, torch.dtype):
            self.set_dtype(path, value)
        elif spec.kind == "tensor" and not isinstance(value, str):
            return
        elif spec.kind == "int" and spec.axes and type(value) is int:
            self.set_size(spec.axes[0], value)
        elif isinstance(value, bool):
            self._copy(f"{path} is {value}").set_spec(path, Spec(kind="bool", value=value))
        elif isinstance(value, int) and not is_enum(type(value)):
            self._copy(f"{path} is {value}").set_spec(path, Spec(kind="int", value=value))
        elif isinstance(value, str | float) and not is_enum(type(value)):
            as_text = isinstance(value, str)
            self._copy(f"{path} is {value!r}").set_spec(path, Spec(kind="str" if as_text else "float", value=value))
        elif value is None:
            self.make(path, "none")
        elif is_enum(type(value)):
            member = Spec(kind="enum", cls=name_class(type(value)), value=value.name)  # type: ignore[attr-defined]
            self._copy(f"{path} is {value}").set_spec(path, member)

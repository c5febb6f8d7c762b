"""A call that is made up: what each argument is, and the sizes, each under a symbol.

An argument has a path: `q` is an argument of the call, `init.dim` of the constructor of the entry's class, `cfg.heads`
an attribute of a config or a constructor argument of an object, `xs.0` an item of a list. A tensor's axes are symbols;
different symbols have different sizes, so that a size in an error names its axis. Two places that must be equal have
the same symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from triton_doctor.explore.model import Provenance  # noqa: TC001 - msgspec evaluates annotations

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal[
    "tensor", "int", "float", "bool", "str", "none", "dtype", "device", "callable", "config", "enum", "object", "list",
    "default",
]  # fmt: skip
CONSTRUCTOR = "init."
FLOATING = ("float32", "bfloat16", "float16", "float64")
# The dtype of tensors that follow the state's own.
FLOAT = "float"


class Spec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an argument is.

    `axes` are a tensor's symbols; an int has one symbol, or none and a fixed `value`. A list has one for its length and
    all its items are as `xs.0`, or none and an argument for each item. `dtype` is that of a tensor,
    `float` where it is the state's. `value` is a bool, str, float or int, the name of a dtype or of an enum's member;
    of a list its type, `list` or `tuple`. `cls` is the class of an object or enum, `module:qualname`. `fill` says which
    values an integer tensor has: zeros, offsets or lengths. A `default` is left out of the call.
    """

    kind: Kind
    axes: tuple[str, ...] = ()
    dtype: str = FLOAT
    value: bool | int | float | str | None = None
    cls: str = ""
    fill: str = ""
    wants_gradient: bool = True


class Tie(msgspec.Struct, frozen=True, kw_only=True):
    """An equality that the code forced: the size of `symbol` is also that of `what`, which is of kind `provenance`."""

    symbol: str
    provenance: Provenance
    what: str


class State(msgspec.Struct, kw_only=True):
    """A call. `dtype` is that of the floating tensors, `note` what was changed last."""

    specs: dict[str, Spec] = {}
    sizes: dict[str, int] = {}
    dtype: str = "float32"
    ties: tuple[Tie, ...] = ()
    note: str = ""

    def copy(self, note: str = "") -> State:
        """Return a state that can be changed alone."""
        return State(
            specs=dict(self.specs),
            sizes=dict(self.sizes),
            dtype=self.dtype,
            ties=self.ties,
            note=note,
        )

    def size(self, symbol: str) -> int:
        """Return the size of `symbol`."""
        return self.sizes[symbol]

    @property
    def used(self) -> set[str]:
        """Return the symbols that some argument has."""
        return {symbol for spec in self.specs.values() for symbol in spec.axes}

    @property
    def free(self) -> tuple[str, ...]:
        """Return the symbols that may be varied."""
        used = self.used
        return tuple(symbol for symbol in self.sizes if symbol in used)

    def is_axis(self, symbol: str) -> bool:
        """Return whether `symbol` is an axis of a tensor, not just an int."""
        return any(symbol in spec.axes for spec in self.specs.values() if spec.kind == "tensor")

    def symbols_of(self, value: object) -> list[str]:
        """Return the symbols whose size is `value`, axes of tensors before ints."""
        if type(value) is not int:
            return []
        found = sorted(symbol for symbol in self.used if self.size(symbol) == value)
        return sorted(found, key=lambda symbol: not self.is_axis(symbol))

    def paths_of(self, symbol: str) -> Iterator[str]:
        """Yield the arguments that have `symbol`."""
        return (path for path, spec in self.specs.items() if symbol in spec.axes)

    def children(self, path: str) -> dict[str, str]:
        """Return the paths directly below `path`, by their last name."""
        start = f"{path}."
        below = (name for name in self.specs if name.startswith(start))
        return {name[len(start) :]: name for name in below if "." not in name[len(start) :]}

    def set_spec(self, path: str, spec: Spec) -> None:
        """Make `path` another argument, with nothing below it."""
        for name in [name for name in self.specs if name.startswith(f"{path}.")]:
            del self.specs[name]
        self.specs[path] = spec

    def rename(self, symbol: str, other: str) -> None:
        """Let every place of `symbol` have `other` instead."""
        for path, spec in self.specs.items():
            if symbol in spec.axes:
                axes = tuple(other if axis == symbol else axis for axis in spec.axes)
                self.specs[path] = msgspec.structs.replace(spec, axes=axes)
        self.ties = tuple(
            msgspec.structs.replace(tie, symbol=other) if tie.symbol == symbol else tie for tie in self.ties
        )

    @property
    def key(self) -> bytes:
        """Equal for states that make the same call."""
        used = self.used
        sizes = sorted((symbol, self.size(symbol)) for symbol in used)
        return msgspec.json.encode((list(self.specs.items()), sizes, self.dtype))

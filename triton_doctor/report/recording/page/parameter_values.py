"""Compiles to the parameters of each kernel: what each was while kernels compiled, and how often that changed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.runtime.event import CompileEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.runtime.event import KernelName, Scalar
    from triton_doctor.runtime.recording import Recording

# Of a class of pointers or integers, what it means.
CLASSES = {"": "any other", "=1": "the constant 1", "%16": "divisible by 16"}
POINTER_CLASSES = {"": "not aligned to 16 bytes", "%16": "aligned to 16 bytes"}
OPTION = "option"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenParameter:
    """One parameter, or launch option, of a kernel over all its compiles.

    `types` are those that it had, `classes` Triton's classes of its values, `values` the values that were recorded, all
    in order of time.
    """

    name: str
    types: tuple[str, ...]
    classes: tuple[str, ...]
    values: tuple[Scalar, ...]

    @property
    def variants(self) -> int:
        """Return how many states it had that Triton tells apart."""
        distinct = len(self.values) if self.types in (("constexpr",), (OPTION,)) else len(self.classes)
        return max(len(self.types), distinct)


def collect_parameters(recordings: Iterable[Recording]) -> dict[KernelName, tuple[SeenParameter, ...]]:
    """Return the parameters of each kernel, in the order of its signature, and then the options that differed."""
    events: defaultdict[KernelName, list[CompileEvent]] = defaultdict(list)
    for recording in recordings:
        for event in recording.events:
            if isinstance(event, CompileEvent):
                events[event.kernel].append(event)
    return {kernel: _parameters_of(compiles) for kernel, compiles in events.items()}


def _parameters_of(compiles: Sequence[CompileEvent]) -> tuple[SeenParameter, ...]:
    types: defaultdict[str, dict[str, None]] = defaultdict(dict)
    classes: defaultdict[str, dict[str, None]] = defaultdict(dict)
    values: defaultdict[str, dict[str, Scalar]] = defaultdict(dict)
    options: defaultdict[str, dict[str, Scalar]] = defaultdict(dict)
    for event in compiles:
        attributes, plain, constants = dict(event.key.attributes), dict(event.values), dict(event.key.constants)
        for name, kind in event.key.signature:
            types[name].setdefault(kind)
            if kind == "constexpr":
                value = constants.get(name)
                values[name].setdefault(repr(value), value)
                continue
            named = POINTER_CLASSES if kind.startswith("*") else CLASSES
            attribute = attributes.get(name, "")
            classes[name].setdefault(named.get(attribute, attribute))
            if name in plain:
                values[name].setdefault(repr(plain[name]), plain[name])
        for name, value in event.key.options:
            options[name].setdefault(repr(value), value)
    parameters = [
        SeenParameter(name=name, types=tuple(kinds), classes=tuple(classes[name]), values=tuple(values[name].values()))
        for name, kinds in types.items()
    ]
    differing = [
        SeenParameter(name=name, types=(OPTION,), classes=(), values=tuple(seen.values()))
        for name, seen in options.items()
        if len(seen) > 1
    ]
    return (*parameters, *differing)

"""A compile as the variant of a kernel that it made: readable text, the same on each machine and in each process."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from triton_doctor.runtime.event import CompileEvent
from triton_doctor.runtime.key_changes import MODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from triton_doctor.runtime.event import CompileKey, Event, KernelName

Variant = tuple[tuple[str, str], ...]
"""Each parameter's type and class, or value where it is a constexpr; then the options that the launch wrote."""


def variant_of(key: CompileKey) -> Variant:
    """Return the part of `key` that does not depend on the machine, the version of Triton or the environment."""
    constants, classes = dict(key.constants), dict(key.attributes)
    return (*_parameters(key.signature, constants, classes), *_options(key.spelled))


def kernel_path(kernel: KernelName) -> str:
    """Return `module.function`, which does not change when lines move."""
    return f"{kernel.module}.{kernel.name}"


def variants_in(events: Iterable[Event]) -> Counter[tuple[str, Variant]]:
    """Count how often each variant was compiled or loaded, on the device where it was most often.

    Kernels that compilers such as Inductor generated are left out, as they have new names in each run.
    """
    counts: Counter[tuple[str, Variant, int | None]] = Counter()
    for event in events:
        if isinstance(event, CompileEvent) and not event.direct:
            counts[kernel_path(event.kernel), variant_of(event.key), event.device] += 1
    most: Counter[tuple[str, Variant]] = Counter()
    for (kernel, variant, _), count in counts.items():
        most[kernel, variant] = max(most[kernel, variant], count)
    return most


def _parameters(
    signature: Iterable[tuple[str, str]], constants: Mapping[str, object], classes: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for name, kind in signature:
        yield name, repr(constants.get(name)) if kind == "constexpr" else kind + classes.get(name, "")


def _options(spelled: Iterable[str]) -> Iterator[tuple[str, str]]:
    for option in spelled:
        name, _, value = option.partition("=")
        if name not in MODES:
            yield name, value

"""Marks, settings and options to the limits of a test, and the kernels that exceed them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.compile_limits import Excess, Limit, find_excess
from triton_doctor.runtime.event import COMPILED, LOADED, CompileEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from triton_doctor.runtime.event import Event

USAGE = 'write it as max_compiles(2), or max_compiles(2, kernel="_rope*", tier="compiled")'


def limits_of_marks(
    nodes: Iterable[Iterable[tuple[tuple[Any, ...], Mapping[str, Any]]]],
) -> tuple[tuple[Limit, ...], ...]:
    """Convert marks to limits, for each node that has some: the test, its class, its module, in this order.

    Each mark is given as its arguments. Raises DoctorError if they are invalid.
    """
    limits: list[tuple[Limit, ...]] = []
    for marks in nodes:
        of_node: dict[tuple[str, str | None], Limit] = {}
        for args, kwargs in marks:
            limit = read_mark(*args, **kwargs) if len(args) <= 1 and _known(kwargs) else None
            if limit is None:
                raise DoctorError(f"max_compiles has no arguments {args} {dict(kwargs)}", hint=USAGE)
            of_node.setdefault((limit.kernel, limit.tier), limit)
        limits.append(tuple(of_node.values()))
    return tuple(limits)


def read_mark(at_most: object = None, *, kernel: object = "*", tier: object = None) -> Limit:
    """Return the limit that a mark with these arguments sets. Raises DoctorError if they are invalid."""
    if type(at_most) is not int or at_most < 0:
        raise DoctorError(f"max_compiles is given {at_most!r}, not a whole number", hint=USAGE)
    if not isinstance(kernel, str):
        raise DoctorError(f"the kernel of max_compiles is {kernel!r}, not a name or glob", hint=USAGE)
    if tier is not None and tier not in (COMPILED, LOADED):
        raise DoctorError(f"max_compiles knows no tier {tier!r}", hint=f'there are: "{COMPILED}", "{LOADED}"')
    return Limit(at_most=at_most, kernel=kernel, tier=tier)


def excess_of_test(
    events: Iterable[Event], marked: Sequence[Sequence[Limit]], default: Sequence[Limit]
) -> list[Excess]:
    """Return the exceeded limits. For each kernel only the closest node with a mark about it counts, else `default`."""
    rest = [event for event in events if isinstance(event, CompileEvent)]
    found: list[Excess] = []
    for limits in marked:
        for limit in limits:
            found += find_excess(rest, [limit])
        rest = [event for event in rest if not any(limit.concerns(event.kernel) for limit in limits)]
    return [*found, *find_excess(rest, default)]


def _known(kwargs: Mapping[str, Any]) -> bool:
    return kwargs.keys() <= {"at_most", "kernel", "tier"}

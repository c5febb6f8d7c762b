"""Marks, settings and options to the limits of a test, and the kernels that exceed them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import COMPILED, LOADED, CompileEvent
from triton_doctor.runtime.limits import Excess, Limit, find_excess

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from triton_doctor.runtime.event import Event

USAGE = 'write it as max_compiles(2), or max_compiles(2, kernel="_rope*", tier="compiled")'


def limits_of_marks(marks: Iterable[tuple[tuple[Any, ...], Mapping[str, Any]]]) -> tuple[Limit, ...]:
    """`marks` are the arguments of each, the closest to the test first; of two for the same kernels that one holds.

    Raises DoctorError where the arguments mean nothing.
    """
    limits: dict[tuple[str, str | None], Limit] = {}
    for args, kwargs in marks:
        limit = read_mark(*args, **kwargs) if len(args) <= 1 and _known(kwargs) else None
        if limit is None:
            raise DoctorError(f"max_compiles has no arguments {args} {dict(kwargs)}", hint=USAGE)
        limits.setdefault((limit.kernel, limit.tier), limit)
    return tuple(limits.values())


def read_mark(at_most: object = None, *, kernel: object = "*", tier: object = None) -> Limit:
    """The limit that a mark with these arguments sets. Raises DoctorError where they mean nothing."""
    if type(at_most) is not int or at_most < 0:
        raise DoctorError(f"max_compiles is given {at_most!r}, not a whole number", hint=USAGE)
    if not isinstance(kernel, str):
        raise DoctorError(f"the kernel of max_compiles is {kernel!r}, not a name or glob", hint=USAGE)
    if tier is not None and tier not in (COMPILED, LOADED):
        raise DoctorError(f"max_compiles knows no tier {tier!r}", hint=f'there are: "{COMPILED}", "{LOADED}"')
    return Limit(at_most=at_most, kernel=kernel, tier=tier)


def excess_of_test(events: Iterable[Event], marked: Sequence[Limit], default: Sequence[Limit]) -> list[Excess]:
    """What exceeds a limit. Each mark is an assertion; `default` holds for the kernels that no mark is about."""
    compiles = [event for event in events if isinstance(event, CompileEvent)]
    rest = [event for event in compiles if not any(limit.concerns(event.kernel) for limit in marked)]
    return [*(excess for limit in marked for excess in find_excess(compiles, [limit])), *find_excess(rest, default)]


def _known(kwargs: Mapping[str, Any]) -> bool:
    return kwargs.keys() <= {"at_most", "kernel", "tier"}

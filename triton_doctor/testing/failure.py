"""The limits of a test, from marks and settings, and why it fails: which kernel, how often, why, and the way out."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.cause_table import CONSTEXPR, FIRST, INTEGER
from triton_doctor.runtime.cause_wording import describe_recompile
from triton_doctor.runtime.causes import explain_all
from triton_doctor.runtime.compile_limits import Excess, Limit, find_excess
from triton_doctor.runtime.event import COMPILED, LOADED, CompileEvent
from triton_doctor.runtime.remedies import way_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import Event, LaunchSite
    from triton_doctor.testing.variant_baseline import Baseline
    from triton_doctor.testing.variants import Variant

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


# How a variant writes the type of what is no constexpr: `*fp32%16`, `i32=1`, `none`.
TYPE = re.compile(r"\*|[iu]\d|b?f[p]?\d|none|tensordesc|nvTmaDesc")
# More causes, launch sites, kernels or values than these are told by their number.
SHOWN = 4


def describe_excess(excess: Excess, events: Iterable[Event], root: Path, before: Sequence[Event] = ()) -> str:
    """Describe the compiles of one kernel beyond its limit: how many, their causes, launch sites, and a hint.

    `events` are all of the test, `before` those before it. Launch sites are shown relative to `root`.
    """
    limit, count = excess.limit, len(excess.events)
    tuning = sum(event.tuning for event in excess.events)
    tried = f" ({tuning} tried by tuning)" if tuning else ""
    happened = limit.tier or "compiled"
    happened = f"was {happened}" if happened.startswith("loaded") else happened
    lines = [f"`{excess.kernel.name}` {happened} {times(count)} in this test{tried}, at most {limit.at_most} allowed"]
    of_kernel = [event for event in events if isinstance(event, CompileEvent) and event.kernel == excess.kernel]
    counted = set(map(id, excess.events))
    causes = [cause for cause in explain_all(of_kernel, before) if id(cause.event) in counted]
    return "\n".join([*lines, *_by_cause(causes, root)])


def _by_cause(causes: Sequence[Recompile], root: Path) -> Iterable[str]:
    groups: defaultdict[tuple[str, ...], list[Recompile]] = defaultdict(list)
    for cause in causes:
        groups[cause.code, *(change.name for change in cause.changes)].append(cause)
    repeated = sorted((group for group in groups.values() if group[0].code != FIRST), key=len, reverse=True)
    for group in repeated[:SHOWN]:
        last = group[-1]
        yield f"  {last.code} {times(len(group))}, last: {describe_recompile(last)}"
        yield f"    launched at {_sites((cause.event.launch_site for cause in group), root)}"
    if len(repeated) > SHOWN:
        yield f"  and {len(repeated) - SHOWN} other causes"
    if repeated:
        yield f"  hint: {_hint(repeated[0][-1])}"
    if not repeated:
        yield f"  launched at {_sites((cause.event.launch_site for cause in causes), root)}"


def _hint(recompile: Recompile) -> str:
    """Return the remedy; it considers how the kernel uses each parameter, if its source is available."""
    if recompile.code not in (CONSTEXPR, INTEGER):
        return way_out(recompile)
    from triton_doctor.evidence.sources import read_sources

    source = read_sources([recompile.event.kernel]).get(recompile.event.kernel)
    return way_out(recompile, None if source is None else source.uses)


def describe_unknown(unknown: Sequence[tuple[str, Variant]], baseline: Baseline, name: str) -> str:
    """Describe, for each kernel, the variants that are not in the baseline file `name`, and the nearest known ones."""
    by_kernel: defaultdict[str, list[Variant]] = defaultdict(list)
    for kernel, variant in unknown:
        by_kernel[kernel].append(variant)
    lines: list[str] = []
    for kernel, variants in list(by_kernel.items())[:SHOWN]:
        number = "1 variant is" if len(variants) == 1 else f"{len(variants)} variants are"
        lines.append(f"`{kernel}`: {number} not in {name}")
        lines += _against(variants, baseline.of(kernel))
    if len(by_kernel) > SHOWN:
        lines.append(f"and {len(by_kernel) - SHOWN} other kernels")
    lines.append("  hint: if this is meant, --triton-doctor-update-baseline writes it")
    return "\n".join(lines)


def _against(variants: Sequence[Variant], known: Sequence[Variant]) -> Iterable[str]:
    if not known:
        yield "  it knows none of this kernel"
        return
    now: defaultdict[str, dict[str, None]] = defaultdict(dict)
    before: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for variant in variants:
        differing = min((_differing(variant, other) for other in known), key=len)
        if variant in known:
            yield "  it is known, and one test compiled it more than once: the kernel was created again"
        elif not differing:
            yield "  the order of its options is another"
        for name in differing:
            now[name][dict(variant).get(name, "not written")] = None
            before[name] |= dict.fromkeys(sorted({dict(other).get(name, "not written") for other in known}))
    for name in list(now)[:SHOWN]:
        became = not any(map(TYPE.match, now[name])) and all(map(TYPE.match, before[name]))
        is_now = "became a constexpr:" if became else "is"
        yield f"  `{name}` {is_now} {_some(now[name])}, was {_some(before[name])}"


def _differing(variant: Variant, other: Variant) -> list[str]:
    now, then = dict(variant), dict(other)
    return [name for name in now | then if now.get(name) != then.get(name)]


def _sites(sites: Iterable[LaunchSite | None], root: Path) -> str:
    counted = Counter(f"{_relative(site.path, root)}:{site.line}" for site in sites if site is not None)
    return _some([place for place, _ in counted.most_common()]) or "no line that is known"


def _relative(path: str, root: Path) -> str:
    return path.removeprefix(f"{root}/")


def _some(texts: Iterable[str]) -> str:
    every = list(texts)
    return ", ".join(every[:SHOWN]) + (f" and {len(every) - SHOWN} more" if len(every) > SHOWN else "")


def times(count: int) -> str:
    """Format a count: `once`, `2 times`."""
    return "once" if count == 1 else f"{count} times"

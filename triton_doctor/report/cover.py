"""What recordings do not cover, as text and as plain values."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from triton_doctor.evidence.cover import NOT_LAUNCHED, NOT_PROVED, NOT_TUNED
from triton_doctor.report.concise import plural
from triton_doctor.terminal import escape_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.evidence.cover import Cover, Gap, KernelSpace
    from triton_doctor.runtime.prewarm.variants import KernelVariant

REASONS_SHOWN = 20


def render_cover(cover: Cover) -> str:
    """Return all that recordings lack, as text."""
    lines = [*render_gaps(cover)]
    if cover.missing:
        heading = f"missing: {plural(len(cover.missing), 'variant')} that the program can need"
        lines = [heading, *explain_added(cover.missing), *lines]
    if cover.is_whole:
        count = sum(space.recorded for space in cover.spaces)
        lines.append(f"covered: {plural(len(cover.spaces), 'kernel')}, {plural(count, 'variant')}: nothing is missing")
    return "".join(f"{escape_text(line)}\n" for line in lines)


def render_gaps(cover: Cover) -> Iterator[str]:
    """Yield the lines on kernels, tuning, and what is not proved: all but the missing variants."""
    for kind in (NOT_LAUNCHED, NOT_TUNED, NOT_PROVED):
        gaps = [gap for gap in cover.gaps if gap.kind == kind]
        if gaps:
            yield f"{kind}: {len(gaps):,}"
            yield from (f"  {_gap_line(gap)}" for gap in gaps)


def explain_added(variants: Iterable[KernelVariant], most: int = REASONS_SHOWN) -> Iterator[str]:
    """Yield a line for each reason to need some of `variants`, at most `most` a kernel."""
    by_kernel: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for variant in variants:
        by_kernel[variant.kernel.name][variant.reason] += 1
    for kernel, reasons in by_kernel.items():
        for reason, count in list(reasons.items())[:most]:
            yield f"  `{kernel}`{f', {count:,} variants' if count > 1 else ''}: {reason}"
        if len(reasons) > most:
            yield f"  `{kernel}`: {len(reasons) - most:,} more; `prewarm --list` has all of them"


def cover_object(cover: Cover) -> dict[str, Any]:
    """Return `cover` as plain values, for JSON."""
    return {
        "schema": 1,
        "entries": list(cover.entries),
        "kernels": [_space_object(space) for space in cover.spaces],
        "gaps": [asdict(gap) for gap in cover.gaps],
        "covered": cover.is_whole,
    }


def _gap_line(gap: Gap) -> str:
    place = f"{gap.path}:{gap.line}" if gap.line else gap.path
    name = f"`{gap.parameter}` of `{gap.kernel}`" if gap.parameter else f"`{gap.kernel}`" if gap.kernel else ""
    told = ": ".join(filter(None, (place, name, gap.reason)))
    return f"{told}{f' ({gap.code})' if gap.code else ''}"


def _space_object(space: KernelSpace) -> dict[str, Any]:
    parameters = [
        asdict(parameter) | {"added": [value for value in parameter.values if value not in parameter.recorded]}
        for parameter in space.parameters
    ]
    added = [{"reason": variant.reason, "key": asdict(variant.key)} for variant in space.missing]
    return asdict(space.kernel) | {"recorded": space.recorded, "parameters": parameters, "added": added}

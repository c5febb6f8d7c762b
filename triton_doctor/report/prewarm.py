"""What `prewarm` did, what a cache misses, and what recordings do not cover, as text and as plain values."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from triton_doctor.evidence.cover import NOT_LAUNCHED, NOT_PROVED, NOT_TUNED
from triton_doctor.phrases import plural
from triton_doctor.runtime.prewarm.kernel_variants import LOG, RECORDED, SOURCE
from triton_doctor.runtime.prewarm.prewarm_plan import COMPILED, FAILED, FOUND, MISSED, UNREACHABLE
from triton_doctor.terminal import escape_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.evidence.cover import Cover, Gap, KernelSpace
    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant
    from triton_doctor.runtime.prewarm.prewarm_plan import Outcome, Prewarmed

VARIANT_REASONS_SHOWN, REASONS_SHOWN, ADDED_SHOWN = 20, 10, 4
BUILT = "built"


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


def explain_added(variants: Iterable[KernelVariant], most: int = VARIANT_REASONS_SHOWN) -> Iterator[str]:
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
    text = ": ".join(filter(None, (place, name, gap.reason)))
    return f"{text}{f' ({gap.code})' if gap.code else ''}"


def _space_object(space: KernelSpace) -> dict[str, Any]:
    parameters = [
        asdict(parameter) | {"added": [value for value in parameter.values if value not in parameter.recorded]}
        for parameter in space.parameters
    ]
    added = [{"reason": variant.reason, "key": asdict(variant.key)} for variant in space.missing]
    return asdict(space.kernel) | {"recorded": space.recorded, "parameters": parameters, "added": added}


def render_prewarmed(result: Prewarmed) -> str:
    """Render the report of a `prewarm` that compiled."""
    return "".join(f"{escape_text(line)}\n" for line in _prewarmed_lines(result))


def render_check(result: Prewarmed, cover: Cover) -> str:
    """Return the report of `--check`: what the cache misses, and what the recordings do not cover."""
    lines = (*_check_lines(result), *render_gaps(cover))
    return "".join(f"{escape_text(line)}\n" for line in lines)


def count_missed(result: Prewarmed) -> int:
    """Count the variants that the cache lacks, including recorded ones that could not be looked up."""
    return len(_missed(result))


def _prewarmed_lines(result: Prewarmed) -> Iterator[str]:
    yield _likely_line(result)
    for target in result.plan.targets:
        outcomes = [outcome for variant, outcome in result.likely if variant.key.target == target]
        states = Counter(outcome.state for outcome in outcomes)
        parts = [f"{states[COMPILED]:,} compiled", f"{states[FOUND]:,} found in the cache"]
        parts += [f"{states[state]:,} {state}" for state in (FAILED, UNREACHABLE) if states[state]]
        built = sum(outcome.launcher == BUILT for outcome in outcomes)
        launchers = f"; {plural(built, 'launcher')} built" if built else ""
        yield f"{target}: {', '.join(parts)}{launchers}"
    for origin in (LOG, SOURCE):
        foreseen = [variant for variant, _ in result.likely if variant.origin == origin]
        if foreseen:
            yield f"added {origin}:"
            yield from explain_added(foreseen, ADDED_SHOWN)
    yield from _left_out(result)
    failed = result.with_state(FAILED, UNREACHABLE)
    yield from _reasons([pair for pair in failed if pair[0].origin == RECORDED], "could not be prewarmed")
    yield from _reasons([pair for pair in failed if pair[0].origin != RECORDED], "added, and does not compile")
    changed = sorted({f"`{variant.kernel.name}`" for variant, outcome in result.likely if outcome.changed})
    if changed:
        yield f"compiled from its source here, which is not the recorded one: {', '.join(changed)}"
    unbuilt = {outcome.launcher for _, outcome in result.likely} - {"", BUILT}
    for reason in sorted(unbuilt):
        yield f"launchers are left to the first launch: {reason}"


def _check_lines(result: Prewarmed) -> Iterator[str]:
    missed = _missed(result)
    yield f"{len(missed):,} missed, {len(result.unused):,} unused"
    for (kernel, reason), count in Counter(missed).items():
        yield f"  missed: `{kernel}`, {plural(count, 'variant')}{f': {reason}' if reason else ''}"
    yield from explain_added(variant for variant, _ in result.with_state(MISSED) if variant.reason)
    for kernel, count in Counter(kernel for _, kernel in result.unused).items():
        yield f"  unused: `{kernel}`, {plural(count, 'entry', 'entries')}"


def _missed(result: Prewarmed) -> list[tuple[str, str]]:
    """Return (kernel, reason) of each variant that the cache lacks; the reason is empty for a plain miss."""
    missed = [(variant.kernel.name, "") for variant, _ in result.with_state(MISSED)]
    return missed + [
        (variant.kernel.name, outcome.reason)
        for variant, outcome in result.with_state(FAILED, UNREACHABLE)
        if variant.origin == RECORDED
    ]


def _likely_line(result: Prewarmed) -> str:
    origins = Counter(variant.origin for variant, _ in result.likely)
    recorded = origins.pop(RECORDED, 0)
    kernels = {variant.kernel for variant, _ in result.likely}
    kinds = ", ".join(f"{origin} {count:,}" for origin, count in sorted(origins.items()))
    line = f"{plural(origins.total() + recorded, 'likely variant')}: {recorded:,} recorded, {origins.total():,} added"
    return f"{line}{f' ({kinds})' if kinds else ''}; {plural(len(kernels), 'kernel')}"


def _left_out(result: Prewarmed) -> Iterator[str]:
    plan = result.plan
    if plan.beyond:
        yield f"{plan.beyond:,} more are likely and were not added: at most 64 of a kernel are"
    if plan.left_out:
        yield f"{plural(plan.left_out, 'compile')} left out that no launch asked for, such as those of torch.compile"


def _reasons(pairs: list[tuple[KernelVariant, Outcome]], heading: str) -> Iterator[str]:
    reasons = Counter((variant.kernel.name, outcome.reason) for variant, outcome in pairs)
    for (kernel, reason), count in reasons.most_common(REASONS_SHOWN):
        yield f"{heading}: `{kernel}`, {plural(count, 'variant')}: {reason}"
    if len(reasons) > REASONS_SHOWN:
        yield f"and {len(reasons) - REASONS_SHOWN:,} more"

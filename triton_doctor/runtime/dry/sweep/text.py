"""A sweep as text: a line a kernel, and below it a line for each part of its key that moved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.phrases import plural
from triton_doctor.runtime.dry.sweep.size_formulas import Growth
from triton_doctor.runtime.sweep_event import INTEGER, TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.runtime.dry.sweep.dimensions import Point
    from triton_doctor.runtime.dry.sweep.swept import Moved, Sweep, SweptKernel
    from triton_doctor.runtime.event import LaunchSite

SHOWN = 6
SITES_SHOWN = 2
GUESSES_SHOWN = 5
GROWTHS = {
    Growth.UNBOUNDED: "unbounded",
    Growth.LOG2: "log2",
    Growth.BOUNDED: "bounded",
    Growth.UNKNOWN: "growth unknown",
}


def render_sweep(sweep: Sweep) -> str:
    """Render the whole report, without a final line break."""
    return "\n".join(_lines(sweep))


def describe_stopped(sweep: Sweep) -> str:
    """Describe points that raised: `2 of 59 points raised, first at batch=3, length=7: ValueError: ...`."""
    point, error = sweep.stopped[0]
    return f"{len(sweep.stopped)} of {len(sweep.points)} points raised, first at {format_point(sweep, point)}: {error}"


def format_point(sweep: Sweep, point: Point) -> str:
    """Format a point: `batch=3, length=7`."""
    return ", ".join(f"{dimension.name}={size}" for dimension, size in zip(sweep.dimensions, point, strict=True))


def explain_bound(kernel: SweptKernel, at_most: int) -> str:
    """Explain why `kernel` exceeds the limit: its variants, and values and formulas of the parts that moved."""
    seen = plural(kernel.per_model, "variant")
    least = f", and at least {kernel.needs:,} over all sizes" if kernel.needs > kernel.per_model else ""
    lines = [f"`{kernel.name.name}` had {seen} at the points called{least}; at most {at_most} allowed"]
    lines += [f"  {' '.join(cells)}" for cells in _rows([moved for moved in kernel.moved if not moved.is_fixed])]
    lines += [f"  launched at {_sites(kernel.sites)}"] if kernel.sites else []
    return "\n".join(lines)


def format_dependency(moved: Moved) -> str:
    """Format the formula, e.g. `cdiv(batch*length, 132)`, or without one the dimensions the part depends on."""
    explanation = moved.explanation
    if explanation.formula is not None:
        return str(explanation.formula)
    return f"by {' and '.join(explanation.follows)}" if explanation.follows else "by something else"


def _lines(sweep: Sweep) -> Iterator[str]:
    swept = ", ".join(f"{dimension}{' (fixed)' if dimension.is_fixed else ''}" for dimension in sweep.dimensions)
    variants = sum(kernel.variants for kernel in sweep.kernels)
    yield f"swept {swept}"
    yield (
        f"{plural(len(sweep.points), 'point')}, {plural(sweep.launches, 'launch')}: {plural(variants, 'variant')} of "
        f"{plural(len(sweep.kernels), 'kernel')}; {sweep.took_s:.1f} s, no GPU"
    )
    if sweep.stopped:
        yield describe_stopped(sweep)
    for point in sweep.found:
        yield f"the search found a new variant at {format_point(sweep, point)}"
    for kernel in sorted(sweep.kernels, key=lambda kernel: (-kernel.variants, kernel.name.name)):
        yield ""
        yield from _kernel_lines(kernel, len(sweep.points))
    if any(moved.is_fixed for kernel in sweep.kernels for moved in kernel.moved):
        yield "per model: it follows only sizes that a model fixes, those of --fixed"
    if sweep.guesses:
        yield ""
        yield from _guess_lines(sweep)


def _kernel_lines(kernel: SweptKernel, points: int) -> Iterator[str]:
    where = "" if kernel.points == points else f" at {kernel.points} of {points} points"
    where += f", where {kernel.condition}" if kernel.condition is not None else ""
    yield f"{kernel.name.name}  {plural(kernel.variants, 'variant')} seen{where}{_format_need(kernel)}"
    if kernel.sites:
        yield f"  launched at {_sites(kernel.sites)}"
    if kernel.rounds:
        tried = f"{plural(kernel.rounds, 'round')} of tuning, {plural(kernel.tried, 'trial')}"
        yield f"  {tried}; which config wins is not known without a GPU"
    rows = list(_rows(kernel.moved))
    widths = [max(len(row[column]) for row in rows) for column in range(4)] if rows else []
    for row in rows:
        yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, [*widths, 0], strict=True)).rstrip()


def _format_need(kernel: SweptKernel) -> str:
    """Format the number of variants per model or over all sizes; empty if it equals the observed number."""
    has_fixed = any(moved.is_fixed for moved in kernel.moved)
    if kernel.needs > kernel.per_model:
        return f", at least {kernel.needs:,} {'for one model' if has_fixed else 'over all sizes'}"
    return f", {kernel.per_model} for one model" if kernel.per_model < kernel.variants else ""


def _rows(moved: Sequence[Moved]) -> Iterator[tuple[str, str, str, str, str]]:
    """Return name and kind, formula, growth, number and first values of each part."""
    for change in moved:
        growth = "per model" if change.is_fixed else GROWTHS[change.explanation.growth]
        formula = format_dependency(change)
        noun = "class" if change.part.kind == INTEGER else "type" if change.part.kind == TYPE else "value"
        seen = plural(len(change.values), noun)
        more = f" of {change.count:,}" if change.count > len(change.values) else ""
        values = [_class(value) if change.part.kind == INTEGER else str(value) for value in change.values]
        shown = ", ".join(values[:SHOWN]) + (", ..." if len(values) > SHOWN else "")
        yield (
            f"{change.part.kind} {change.part.name}",
            f"= {formula}" if change.explanation.formula else formula,
            growth,
            f"{seen}{more}",
            shown,
        )


def _class(value: object) -> str:
    text = str(value)
    if "=1" in text:
        return "the constant 1"
    kind = "64-bit " if "64" in text.partition("%")[0] else ""
    return f"{kind}divisible by 16" if "%16" in text else f"{kind}other"


def _guess_lines(sweep: Sweep) -> Iterator[str]:
    guesses = sweep.guesses
    yield f"guessed {plural(len(guesses), 'value')}; what follows a guess may differ on a GPU"
    for guess in guesses[:GUESSES_SHOWN]:
        yield f"  {guess.question}{f' at {_site(guess.site)}' if guess.site else ''}"
    if len(guesses) > GUESSES_SHOWN:
        yield f"  and {len(guesses) - GUESSES_SHOWN} more"


def _sites(sites: Sequence[LaunchSite]) -> str:
    places = list(dict.fromkeys(map(_site, sites)))
    more = f" and {len(places) - SITES_SHOWN} more" if len(places) > SITES_SHOWN else ""
    return ", ".join(places[:SITES_SHOWN]) + more


def _site(site: LaunchSite) -> str:
    inside = site.path.removeprefix(f"{Path.cwd()}{os.sep}")
    return f"{inside}:{site.line}"

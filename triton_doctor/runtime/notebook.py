"""A recording as HTML for a notebook: counts, and a row for each kernel with what made it compile again.

It takes its colors and fonts from the notebook, which may be light or dark, and brings no style sheet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from html import escape
from typing import TYPE_CHECKING

from triton_doctor.runtime.cause_table import FIRST
from triton_doctor.runtime.event import COMPILED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.runtime.recording import Recording

KERNELS_SHOWN, CAUSES_SHOWN, VALUES_SHOWN = 20, 3, 6
HEAD = ("kernel", "launches", "compiled", "from disk", "seconds", "compiled again because")
NUMBER, TEXT = "text-align:right", "text-align:left"


def summarize_html(recording: Recording) -> str:
    """Render a table of the kernels, those with the longest compile time first."""
    waits: Counter[KernelName] = Counter()
    tiers: Counter[tuple[KernelName, bool]] = Counter()
    for event in recording.compiles:
        waits[event.kernel] += event.duration_us
        tiers[event.kernel, event.tier == COMPILED] += 1
    launches = recording.launches
    causes: defaultdict[KernelName, list[Recompile]] = defaultdict(list)
    for cause in recording.causes:
        causes[cause.event.kernel].append(cause)
    kernels = sorted({*waits, *launches}, key=lambda kernel: (-waits[kernel], kernel))
    rows = [
        (
            f"<code>{escape(kernel.name)}</code>",
            f"{launches[kernel]:,}" if kernel in launches else "",
            f"{tiers[kernel, True]:,}",
            f"{tiers[kernel, False]:,}",
            f"{waits[kernel] / 1e6:.3f}",
            "<br>".join(_render_causes(causes[kernel])),
        )
        for kernel in kernels[:KERNELS_SHOWN]
    ]
    first = escape(str(recording).partition("\n")[0])
    more = f"<p>and {len(kernels) - KERNELS_SHOWN:,} kernels more</p>" if len(kernels) > KERNELS_SHOWN else ""
    table = f"<table><thead>{_row('th', HEAD)}</thead><tbody>{''.join(_row('td', row) for row in rows)}</tbody></table>"
    return f"<div><p><b>{first}</b></p>{table if rows else ''}{more}</div>"


def _row(tag: str, cells: tuple[str, ...]) -> str:
    """Render a row of the table; the first and last cells are text, the others right-aligned numbers."""
    styles = [TEXT, *[NUMBER] * (len(cells) - 2), TEXT]
    shown = (f'<{tag} style="{style}">{cell}</{tag}>' for cell, style in zip(cells, styles, strict=True))
    return f"<tr>{''.join(shown)}</tr>"


def _render_causes(causes: list[Recompile]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    names: defaultdict[str, dict[str, dict[str, None]]] = defaultdict(dict)
    for cause in causes:
        if cause.code == FIRST:
            continue
        counts[cause.code] += 1
        for change in cause.changes:
            if change.code == cause.code:
                values = names[cause.code].setdefault(change.name, {})
                values |= {repr(change.before): None, repr(change.after): None}
    for code, count in counts.most_common(CAUSES_SHOWN):
        parts = [f"<code>{escape(name)}</code> {escape(_show(list(values)))}" for name, values in names[code].items()]
        yield f"{count:,}x {code}" + (f": {'; '.join(parts)}" if parts else "")


def _show(values: list[str]) -> str:
    more = f", ... ({len(values):,})" if len(values) > VALUES_SHOWN else ""
    return ", ".join(values[:VALUES_SHOWN]) + more

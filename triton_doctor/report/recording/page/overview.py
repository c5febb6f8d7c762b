"""The top of the page: what the run cost, its figures, where the time went, and what to change first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.evidence import advise
from triton_doctor.report.recording.page.elements import Child, element, prose, section
from triton_doctor.report.recording.wording import (
    PARTS,
    counted,
    counts_are_whole,
    is_idle,
    name_parts,
    name_process,
    seconds,
    tell_captured,
    tell_interpreted,
    tell_rules,
    tell_saved,
    tell_settled,
    tell_variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from triton_doctor.evidence import Advice
    from triton_doctor.report.recording.page.source_lines import SourceReader
    from triton_doctor.runtime.account import Account, ProcessAccount
    from triton_doctor.runtime.timeline import Split

PROCESSES_SHOWN, ADVICE_SHOWN, ADVICE_OPEN = 24, 10, 4
# What would be shown as 0.000 s.
LEAST_SHOWN_US = 500
# The page shows these parts in the color of waiting for Triton; the others are the program's own time.
OTHER = "everything else"
SLUGS = {name: f"part-{index}" for index, name in enumerate(PARTS)}


def head(account: Account) -> Element:
    """The sentence, what is loudest, and the figures."""
    command = " ".join(account.command or (account.processes[0].header.command if account.processes else ()))
    loud = [*tell_interpreted(account), *tell_captured(account), *tell_variables(account)]
    settled = tell_settled(account)
    return element(
        "header",
        element("p", "triton-doctor", class_="brand"),
        element("h1", *sentence(account)),
        element("p", element("code", command), class_="command") if command else None,
        *(element("p", *prose(line), class_="alarm", role="note") for line in loud),
        element("p", settled, class_="settled") if settled else None,
        element("dl", *_figures(account), class_="tiles"),
    )


def sentence(account: Account) -> list[Child]:
    """What Triton cost: `Triton kept rank 3 waiting for 1.34 s of 3.09 s`."""
    variants = sum(kernel.compiled + kernel.from_disk for kernel in account.kernels)
    if account.dry is not None:
        return [f"{counted(variants, 'variant')} of {counted(len(account.kernels), 'kernel')} would compile"]
    if not account.processes:
        return ["No process imported Triton"]
    slowest = max(account.processes, key=lambda one: waited_us(one.split))
    waited = waited_us(slowest.split)
    who = "the program" if len(account.processes) == 1 else name_process(slowest).partition(" (")[0]
    share = f" ({waited / max(1, slowest.split.wall_us):.0%})"
    most = f", the longest of {len(account.processes):,} processes" if len(account.processes) > 1 else ""
    return [
        f"Triton kept {who} waiting for ",
        element("em", seconds(waited)),
        " of ",
        element("span", seconds(slowest.split.wall_us), class_="whole"),
        f"{share}{most}",
    ]


def waited_us(split: Split) -> int:
    """All that is not the program's own time."""
    return split.wall_us - split.other_us


def _figures(account: Account) -> Iterator[Element]:
    kernels = account.kernels
    least = "" if counts_are_whole(account) else "≥ "
    again = sum(count for kernel in kernels for _, count, _ in kernel.again)
    launches = sum(kernel.launches for kernel in kernels if not kernel.direct)
    dry = account.dry is not None
    figures = [
        ("kernels", f"{len(kernels):,}"),
        ("launches counted", f"{least}{launches:,}"),
        ("variants" if dry else "compiled", f"{sum(kernel.compiled for kernel in kernels):,}"),
        *([] if dry else [("from disk", f"{sum(kernel.from_disk for kernel in kernels):,}")]),
        ("recompiles", f"{again:,}"),
        ("rounds of tuning", f"{sum(kernel.autotune_rounds for kernel in kernels):,}"),
        *([("failed", f"{failed:,}")] if (failed := sum(kernel.failed for kernel in kernels)) else []),
    ]
    for name, value in figures:
        yield element("div", element("dt", name), element("dd", value))


def where_the_time_went(account: Account) -> Element | None:
    """A bar for each process, and a legend with the figures of the longest."""
    if account.dry is not None or not account.processes:
        return None
    busy = [one for one in account.processes if not is_idle(one)] or list(account.processes[:1])
    shown = sorted(busy, key=lambda one: -waited_us(one.split))[:PROCESSES_SHOWN]
    in_order = [one for one in busy if one in shown]
    scale = max(1, *(one.split.wall_us for one in shown))
    more, idle = len(busy) - len(shown), len(account.processes) - len(busy)
    rest = [f"{counted(more, 'process')} that did not wait longer" if more else "", f"{idle:,} idle" if idle else ""]
    told = " and ".join(filter(None, rest))
    return section(
        "where the time went",
        element("div", *(_bar(one, scale) for one in in_order), class_="bars"),
        element("p", f"not shown: {told}", class_="aside") if told else None,
        _legend(in_order),
    )


def _bar(process: ProcessAccount, scale: int) -> Element:
    parts = [(name, us) for name, us in name_parts(process.split) if us]
    told = ", ".join(f"{name} {seconds(us)}" for name, us in parts)
    pieces = [
        element(
            "span", class_=f"piece {SLUGS[name]}", style=f"width:{100 * us / scale:.3f}%", title=f"{name} {seconds(us)}"
        )
        for name, us in parts
    ]
    return element(
        "div",
        element("span", name_process(process), class_="who"),
        element("div", *pieces, class_="bar", role="img", aria_label=told),
        element("span", seconds(process.split.wall_us), class_="number"),
        class_="bar-row",
    )


def _legend(processes: Sequence[ProcessAccount]) -> Element:
    sums = {name: sum(dict(name_parts(one.split))[name] for one in processes) for name in PARTS}
    whole = max(1, sum(sums.values()))
    rows = [
        element(
            "li",
            element("i", class_=f"swatch {SLUGS[name]}"),
            element("span", name, class_="grow"),
            element("span", seconds(us), class_="number"),
            element("span", f"{us / whole:.1%}", class_="number faint"),
        )
        for name, us in sums.items()
        if us >= LEAST_SHOWN_US
    ]
    return element("ul", *rows, class_="legend")


def what_to_change(account: Account, source: SourceReader, cwd: Path) -> Element | None:
    """The advice, most seconds saved first, with the lines that it is about."""
    found = advise(account)[:ADVICE_SHOWN]
    if not found:
        return None
    items = [_advice(one, account, source) for one in found]
    first, more = items[:ADVICE_OPEN], items[ADVICE_OPEN:]
    rest = element("ol", *more, class_="advice")
    folded = element("details", element("summary", f"{counted(len(more), 'change')} more"), rest) if more else None
    return section("what to change first", element("ol", *first, class_="advice"), folded)


def _advice(advice: Advice, account: Account, source: SourceReader) -> Element:
    kernel = next((one for one in account.kernels if one.kernel == advice.kernel), None)
    quotes: list[Child] = []
    if kernel is not None:
        quotes += [source.quote_parameter(kernel.kernel, name) for name in advice.parameters]
        quotes += [source.quote(site.path, site.line) for site, _ in kernel.sites[:1]]
    title: list[Child] = [element("code", advice.kernel.name), " "] if advice.kernel is not None else []
    return element(
        "li",
        element("p", element("b", tell_saved(advice)), element("span", " saved"), class_="saved"),
        element(
            "div",
            element("h3", *title, element("span", *prose(advice.remedy))),
            element("p", *prose(advice.fact)),
            *quotes,
            element("p", tell_rules(advice), class_="aside"),
        ),
    )

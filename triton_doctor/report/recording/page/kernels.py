"""The table of kernels: a row each; below it why it compiled again, its parameters and values, and its launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.report.recording.page.elements import element, prose, section, table
from triton_doctor.report.recording.wording import (
    causes_worth,
    counted,
    counts_are_whole,
    milliseconds,
    place,
    seconds,
    show_values,
    tell_cause,
    tell_faults,
    tell_share,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from triton_doctor.report.recording.page.parameters import SeenParameter
    from triton_doctor.report.recording.page.source_lines import SourceReader
    from triton_doctor.runtime.account import Account
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.runtime.kernel_account import CauseAccount, KernelAccount

# Details are about 3 kB a kernel, a row 400 bytes.
DETAILED, LISTED, SITES_SHOWN, OPEN_AT_FIRST = 60, 400, 5, 1
COLUMNS = ("launches", "in memory", "compiled", "from disk", "compile ms", "load ms", "tune ms", "waited")


def list_kernels(
    account: Account, parameters: Mapping[KernelName, Sequence[SeenParameter]], source: SourceReader, cwd: Path
) -> Element | None:
    """The section; None where no kernel was seen."""
    shown = account.kernels[:LISTED]
    if not shown:
        return None
    longest = max(1, *(kernel.waited_us for kernel in shown))
    least = "" if counts_are_whole(account) else "≥ "
    headings = [element("th", "kernel", scope="col", class_="name")]
    headings += [element("th", column, scope="col", class_="number") for column in COLUMNS]
    bodies = []
    for index, kernel in enumerate(shown):
        detail = _detail(kernel, parameters.get(kernel.kernel, ()), source) if index < DETAILED else None
        bodies.append(_body(kernel, f"kernel-{index}", detail, longest, least, cwd))
    more = len(account.kernels) - len(shown)
    return section(
        "kernels",
        element(
            "div",
            element(
                "table",
                element("thead", element("tr", *headings)),
                *bodies,
                class_="figures kernels",
                id="kernels-table",
            ),
            class_="scroll",
        ),
        element("p", f"and {counted(more, 'kernel')} more: --kernel chooses", class_="aside") if more else None,
    )


def _body(kernel: KernelAccount, name: str, detail: Element | None, longest: int, least: str, cwd: Path) -> Element:
    title = element("code", kernel.kernel.name)
    where = element("span", place(kernel.kernel.path, kernel.kernel.line, cwd), class_="place")
    # The script makes a button of it that shows and hides the row below.
    head = element("span", title, **({"class_": "opener", "data_controls": name} if detail is not None else {}))
    counts = (
        "not counted" if kernel.direct else f"{least}{kernel.launches:,}",
        "" if kernel.direct else f"{least}{kernel.in_memory:,}",
        f"{kernel.compiled:,}" if kernel.compiled else "",
        f"{kernel.from_disk:,}" if kernel.from_disk else "",
        milliseconds(kernel.compile_us),
        milliseconds(kernel.load_us),
        milliseconds(kernel.autotune_us),
    )
    share = element("i", class_="share", style=f"width:{100 * kernel.waited_us / longest:.1f}%")
    row = element(
        "tr",
        element("th", head, where, scope="row", class_="name"),
        *(element("td", count, class_="number") for count in counts),
        element("td", seconds(kernel.waited_us) if kernel.waited_us else "", share, class_="number waited"),
    )
    below = None
    if detail is not None:
        below = element("tr", element("td", detail, colspan=str(len(COLUMNS) + 1)), id=name, class_="detail")
    return element("tbody", row, below)


def _detail(kernel: KernelAccount, parameters: Sequence[SeenParameter], source: SourceReader) -> Element:
    causes = causes_worth(kernel)
    faults = list(tell_faults(kernel))
    blamed = {cause.parameter for cause in causes}
    sites = [
        element("li", source.quote(site.path, site.line), element("span", f"in {site.function}: {tell_share(share)}"))
        for site, share in kernel.sites[:SITES_SHOWN]
    ]
    return element(
        "div",
        element("ul", *(element("li", *prose(fault), class_="fault") for fault in faults)) if faults else None,
        element("h3", "why it compiled again") if causes else None,
        element("ul", *(_cause(kernel, cause, source) for cause in causes), class_="causes") if causes else None,
        element("h3", "parameters and values at its compiles") if parameters else None,
        table(
            ("parameter", "type", "variants", "values and classes"),
            (_row(one, one.name in blamed) for one in parameters),
            text_columns=4,
        )
        if parameters
        else None,
        element("h3", "launched at") if sites else None,
        element("ul", *sites, class_="sites") if sites else None,
        class_="detail-body",
    )


def _cause(kernel: KernelAccount, cause: CauseAccount, source: SourceReader) -> Element:
    quote = None if cause.parameter is None else source.quote_parameter(kernel.kernel, cause.parameter)
    waited = element("span", f"{seconds(cause.waited_us)}", class_="number") if cause.waited_us else None
    return element("li", element("span", *prose(tell_cause(cause)), class_="grow"), waited, quote)


def _row(parameter: SeenParameter, blamed: bool) -> tuple[Element, Element, Element, Element]:
    values = show_values(parameter.values) if parameter.values else ""
    classes = ", ".join(parameter.classes)
    name = element("code", parameter.name, **({"class_": "blamed"} if blamed else {}))
    return (
        name,
        element("span", " | ".join(parameter.types)),
        element("span", f"{parameter.variants:,}", **({"class_": "many"} if parameter.variants > 1 else {})),
        element(
            "span",
            element("code", values) if values else None,
            " " if values and classes else None,
            element("span", classes, class_="faint") if classes else None,
        ),
    )

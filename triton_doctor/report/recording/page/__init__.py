"""The account of a run, and its recordings, to one HTML file that needs nothing else.

In: an `Account`, the `Recording` of each process, and a reader of source lines. Out: the text of a page that opens from
a disk, without a network, in any browser of the last years, light or dark, with a keyboard alone, and printed.

What is read stands in the page as HTML, which `elements` builds, so that it is there without a script too. The timeline
is drawn by `page.js` from the data that `moments` packs into a script tag. `page.html` is the frame, for
`string.Template`; a policy in it forbids the page to load anything.

Example: a kernel named `</script><b>` is `&lt;/script&gt;&lt;b&gt;` in the table, and `\\u003c/script>` in the data.
"""

from __future__ import annotations

import json
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, tostring

from triton_doctor.report.recording.page.elements import element, section
from triton_doctor.report.recording.page.kernels import list_kernels
from triton_doctor.report.recording.page.moments import collect_moments
from triton_doctor.report.recording.page.overview import head, what_to_change, where_the_time_went
from triton_doctor.report.recording.page.parameters import collect_parameters
from triton_doctor.report.recording.page.source_lines import SourceReader
from triton_doctor.report.recording.page.surroundings import environment, not_seen, what_else
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triton_doctor.runtime.account import Account
    from triton_doctor.runtime.recording import Recording

FOLDER = Path(__file__).parent
KEYS = (
    "drag or use the arrow keys to move, + and - or the wheel with Ctrl to zoom, 0 for all of it, "
    "n and p for the next and the previous event"
)


def render_html(
    account: Account, recordings: Sequence[Recording], *, cwd: Path, lines_of: Callable[[str], Sequence[str]]
) -> str:
    """The page. `recordings` are those of the account; paths below `cwd` are shown from there."""
    source = SourceReader(lines_of, cwd)
    moments = collect_moments(recordings)
    parts = [
        head(account),
        where_the_time_went(account),
        what_to_change(account, source, cwd),
        _timeline(moments),
        list_kernels(account, collect_parameters(recordings), source, cwd),
        *what_else(account, cwd),
        environment(account),
        not_seen(account),
        element("footer", f"triton-doctor {__version__}"),
    ]
    return Template((FOLDER / "page.html").read_text(encoding="utf-8")).substitute(
        title=_serialize(element("title", _title(account))),
        style=(FOLDER / "page.css").read_text(encoding="utf-8"),
        body="\n".join(_serialize(part) for part in parts if part is not None),
        data=_as_script(moments),
        script=(FOLDER / "page.js").read_text(encoding="utf-8"),
    )


def _title(account: Account) -> str:
    command = account.command or (account.processes[0].header.command if account.processes else ())
    return f"{' '.join(command)[:80] or 'recording'} - triton-doctor"


def _timeline(moments: dict[str, object]) -> Element | None:
    lanes, left_out = moments["lanes"], moments["left_out"]
    if not lanes or not isinstance(left_out, dict):
        return None
    told = []
    if left_out["moments"]:
        told.append(f"{left_out['moments']:,} events of {left_out['at_most_us'] / 1000:,.1f} ms and less")
    if left_out["lanes"]:
        told.append(f"{left_out['lanes']:,} threads that waited less")
    return section(
        "timeline",
        element("p", KEYS, class_="aside", id="timeline-keys"),
        element(
            "canvas",
            "The timeline needs scripts; the tables have all that it shows, summed up.",
            id="timeline-canvas",
            tabindex="0",
            role="application",
            aria_label="timeline of compiles, loads and tuning by process and thread",
            aria_describedby="timeline-keys timeline-detail",
        ),
        element("div", class_="timeline-bar", id="timeline-bar"),
        element("p", "choose an event to see its kernel and cause", id="timeline-detail", aria_live="polite"),
        element("p", f"not drawn: {' and '.join(told)}", class_="aside") if told else None,
    )


def _serialize(part: Element) -> str:
    return tostring(part, encoding="unicode", method="html")


def _as_script(value: object) -> str:
    """JSON that ends no script tag and opens no comment in it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace("&", "\\u0026")

"""The account of a run, and its recordings, to one HTML file that needs nothing else.

In: an `Account`, the `Recording` of each process, and a reader of source lines. Out: the text of a page that opens from
a disk, without a network, in any browser of the last years, light or dark, with a keyboard alone, and printed.

`page.html` is a Jinja template that escapes everything; this file gives it plain values. The timeline is drawn by
`page.js` from the data that `moments` packs into a script tag. A policy in the page forbids it to load anything.

Example: a kernel named `</script><b>` is `&lt;/script&gt;&lt;b&gt;` in the table, and `\\u003c/script>` in the data.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from triton_doctor.evidence import advise
from triton_doctor.phrases import plural
from triton_doctor.report.recording.dry import (
    describe_files,
    describe_guesses,
    describe_pretended,
    describe_rounds,
    describe_stops,
)
from triton_doctor.report.recording.page.moments import collect_moments
from triton_doctor.report.recording.page.parameter_values import collect_parameters
from triton_doctor.report.recording.page.source_lines import SourceReader
from triton_doctor.report.recording.ranks import describe_ranks
from triton_doctor.report.recording.steps import describe_steps
from triton_doctor.report.recording.torch_compile import describe_torch_compile
from triton_doctor.report.recording.wording import (
    LEAST_SHOWN_US,
    PARTS,
    causes_worth,
    counts_are_whole,
    describe_cache_folder,
    describe_captured,
    describe_cause,
    describe_faults,
    describe_interpreted,
    describe_rules,
    describe_saved,
    describe_settled,
    describe_share,
    describe_unseen,
    describe_variables,
    is_idle,
    milliseconds,
    name_parts,
    name_process,
    place,
    seconds,
    show_values,
)
from triton_doctor.rulebook import installed_home, page_paths, read_page
from triton_doctor.terminal import escape_line
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from triton_doctor.evidence import Advice
    from triton_doctor.report.recording.page.parameter_values import SeenParameter
    from triton_doctor.runtime.account import Account, ProcessAccount
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.runtime.kernel_account import KernelAccount
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.runtime.timeline import Split

FOLDER = Path(__file__).parent
PROCESSES_SHOWN, PROCESSES_LISTED, ADVICE_SHOWN, ADVICE_OPEN = 24, 16, 10, 4
# Details are about 3 kB a kernel, a row 400 bytes.
DETAILED, LISTED, SITES_SHOWN = 60, 400, 5
COLUMNS = ("launches", "in memory", "compiled", "from disk", "compile ms", "load ms", "tune ms", "waited")
COMPILED = COLUMNS.index("compiled")
# What each part of the time is, for a reader who does not know Triton's stages.
MEANINGS = {
    "compiling": "Triton's compiler: Python to machine code",
    "loading": "compiled kernels read from Triton's cache on disk instead of being compiled",
    "building launchers": "C code that Triton generates and compiles to pass a kernel its arguments",
    "loading modules": "machine code that the driver copies to the GPU",
    "compiles that failed": "compiles that ended with an error",
    "tuning": "configs that the autotuner measures, besides compiling them",
    "first of a process": "what only the first kernel of a process pays: importing the compiler, finding the GPU",
    "interpreting": "kernels that run in Python, since TRITON_INTERPRET is set",
    "everything else": "the program's own time",
}
NOT_MARKED = (
    "time between the launches of a kernel: launches are counted, not timed",
    "source lines are quoted as the files are on the machine that wrote this page",
)
CODE = re.compile(r"\bTRD\d{3}\b")


def render_html(
    account: Account, recordings: Sequence[Recording], *, cwd: Path, lines_of: Callable[[str], Sequence[str]]
) -> str:
    """Return the page. `recordings` are those of the account; paths below `cwd` are shown from there."""
    source = SourceReader(lines_of, cwd)
    moments = collect_moments(recordings)
    named: dict[str, None] = {}
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: escape_line(value) if type(value) is str else value,
    )

    def prose(text: str, links: bool = True) -> Markup:
        """Return `text` with what is between backticks as code, and codes of rules as links to their explanation."""
        return format_prose(text, named if links else None)

    environment.filters |= {"prose": prose, "counted": plural, "values": lambda values: show_values(tuple(values))}
    command = " ".join(account.command or (account.processes[0].header.command if account.processes else ()))
    advice = [_advice(found, account, source) for found in advise(account)[:ADVICE_SHOWN]]
    kernels = _kernels(account, collect_parameters(recordings), source, cwd)
    shown = [number for number, name in enumerate(COLUMNS[:-1]) if any(kernel["cells"][number] for kernel in kernels)]
    for kernel in kernels:
        kernel["cells"] = [kernel["cells"][number] for number in shown]
    return environment.get_template("page.html").render(
        title=f"{command[:80] or 'recording'} - triton-doctor",
        style=_asset("page.css"),
        sentence=_sentence(account),
        command=command,
        alarms=[*describe_interpreted(account), *describe_captured(account), *describe_variables(account)],
        settled=describe_settled(account),
        figures=list(_figures(account)),
        bars=_bars(account),
        changes={"first": advice[:ADVICE_OPEN], "more": advice[ADVICE_OPEN:]},
        has_timeline=bool(moments["lanes"]),
        not_drawn=_describe_left_out(moments["left_out"]),
        kernels=kernels,
        columns=["variants" if account.dry and number == COMPILED else COLUMNS[number] for number in shown]
        + ["waited"] * any(kernel["waited"] for kernel in kernels),
        kernels_left_out=len(account.kernels) - len(kernels),
        lists=_lists(account, cwd),
        facts=[(name, values) for name, values in _facts(account) if values],
        unseen=[*describe_unseen(account), *NOT_MARKED],
        rules=lambda: [_rule(code) for code in sorted(named)],
        version=__version__,
        data=_as_script(moments),
        script=_asset("page.js"),
    )


def format_prose(text: str, named: dict[str, None] | None = None) -> Markup:
    """Return `text` with what is between backticks as code; a backtick without a second one is shown.

    With `named`, codes of rules become links and are added to it.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = [f"{parts[-2]}`{parts[-1]}"]

    def link(match: re.Match[str]) -> str:
        if named is None or match[0] not in page_paths():
            return match[0]
        named[match[0]] = None
        return f'<a href="#{match[0]}">{match[0]}</a>'

    safe = [str(escape(escape_line(part))) for part in parts]
    return Markup("").join(
        Markup(f"<code>{part}</code>" if number % 2 else CODE.sub(link, part)) for number, part in enumerate(safe)
    )


def _rule(code: str) -> dict[str, str | None]:
    page, home = read_page(code), installed_home()
    address = home.page_uri(code) if home.site or home.repository else None
    return {"code": code, "name": page.name, "summary": page.summary, "address": address}


def _sentence(account: Account) -> dict[str, str]:
    """Return what Triton cost: `Triton kept rank 3 waiting for 1.34 s of 3.09 s`, in pieces."""
    variants = sum(kernel.compiled + kernel.from_disk for kernel in account.kernels)
    if account.dry is not None:
        text = f"{plural(variants, 'variant')} of {plural(len(account.kernels), 'kernel')} would compile"
        return {"before": text, "waited": ""}
    if not account.processes:
        return {"before": "No process imported Triton", "waited": ""}
    slowest = max(account.processes, key=lambda process: waited_us(process.split))
    waited = waited_us(slowest.split)
    who = "the program" if len(account.processes) == 1 else name_process(slowest).partition(" (")[0]
    most = f", the longest of {len(account.processes):,} processes" if len(account.processes) > 1 else ""
    return {
        "before": f"Triton kept {who} waiting for ",
        "waited": seconds(waited),
        "wall": seconds(slowest.split.wall_us),
        "after": f" ({waited / max(1, slowest.split.wall_us):.0%}){most}",
    }


def waited_us(split: Split) -> int:
    """Return all that is not the program's own time."""
    return split.wall_us - split.other_us


def _figures(account: Account) -> Iterator[tuple[str, str]]:
    kernels, is_dry = account.kernels, account.dry is not None
    least = "" if counts_are_whole(account) else "≥ "
    yield "kernels", f"{len(kernels):,}"
    yield "launches counted", f"{least}{sum(kernel.launches for kernel in kernels if not kernel.direct):,}"
    compiled, from_disk = sum(kernel.compiled for kernel in kernels), sum(kernel.from_disk for kernel in kernels)
    yield ("variants" if is_dry else "compiled"), f"{compiled:,}"
    if not is_dry:
        yield "from disk", f"{from_disk:,}"
    yield "recompiles", f"{sum(count for kernel in kernels for _, count, _ in kernel.again):,}"
    yield "rounds of tuning", f"{sum(kernel.autotune_rounds for kernel in kernels):,}"
    if failed := sum(kernel.failed for kernel in kernels):
        yield "failed", f"{failed:,}"


def _bars(account: Account) -> dict[str, Any] | None:
    """Return a bar for each process that waited longest, and a legend with their sums; None for a dry run."""
    if account.dry is not None or not account.processes:
        return None
    busy = [process for process in account.processes if not is_idle(process)] or list(account.processes[:1])
    most = sorted(busy, key=lambda process: -waited_us(process.split))[:PROCESSES_SHOWN]
    shown = [process for process in busy if process in most]
    scale = max(1, *(process.split.wall_us for process in shown))
    more, idle = len(busy) - len(shown), len(account.processes) - len(busy)
    rest = [f"{plural(more, 'process')} that did not wait longer" if more else "", f"{idle:,} idle" if idle else ""]
    sums = {name: sum(dict(name_parts(process.split))[name] for process in shown) for name in PARTS}
    whole = max(1, sum(sums.values()))
    legend = [
        {
            "slug": _slug(name),
            "name": name,
            "meaning": MEANINGS[name],
            "seconds": seconds(us),
            "share": f"{us / whole:.1%}",
        }
        for name, us in sums.items()
        if us >= LEAST_SHOWN_US
    ]
    return {
        "processes": [_bar(process, scale) for process in shown],
        "rest": " and ".join(filter(None, rest)),
        "legend": legend,
    }


def _bar(process: ProcessAccount, scale: int) -> dict[str, Any]:
    parts = [(name, us) for name, us in name_parts(process.split) if us]
    pieces = [
        {
            "slug": _slug(name),
            "percent": f"{100 * us / scale:.3f}",
            "title": f"{name} {seconds(us)}: {MEANINGS[name]}",
        }
        for name, us in parts
    ]
    label = ", ".join(f"{name} {seconds(us)}" for name, us in parts)
    return {"who": name_process(process), "label": label, "pieces": pieces, "wall": seconds(process.split.wall_us)}


def _slug(part: str) -> str:
    return f"part-{PARTS.index(part)}"


def _advice(advice: Advice, account: Account, source: SourceReader) -> dict[str, Any]:
    kernel = next((kernel for kernel in account.kernels if kernel.kernel == advice.kernel), None)
    quotes = []
    if kernel is not None:
        quotes += [source.quote_parameter(kernel.kernel, name) for name in advice.parameters]
        quotes += [source.quote(site.path, site.line) for site, _ in kernel.sites[:1]]
    return {
        "saved": describe_saved(advice),
        "kernel": "" if advice.kernel is None else advice.kernel.name,
        "remedy": advice.remedy,
        "fact": advice.fact,
        "quotes": quotes,
        "rules": describe_rules(advice),
    }


def _describe_left_out(left_out: Mapping[str, int]) -> str:
    parts = []
    if left_out["moments"]:
        parts.append(f"{left_out['moments']:,} events of {left_out['at_most_us'] / 1000:,.1f} ms and less")
    if left_out["lanes"]:
        parts.append(f"{left_out['lanes']:,} threads that waited less")
    return " and ".join(parts)


def _kernels(
    account: Account, parameters: Mapping[KernelName, Sequence[SeenParameter]], source: SourceReader, cwd: Path
) -> list[dict[str, Any]]:
    longest = max(1, *(kernel.waited_us for kernel in account.kernels)) if account.kernels else 1
    least = "" if counts_are_whole(account) else "≥ "
    rows = []
    for number, kernel in enumerate(account.kernels[:LISTED]):
        row = {
            "name": kernel.kernel.name,
            "place": place(kernel.kernel.path, kernel.kernel.line, cwd),
            "cells": [
                "not counted" if kernel.direct else f"{least}{kernel.launches:,}",
                "" if kernel.direct else f"{least}{kernel.in_memory:,}",
                f"{kernel.compiled:,}" if kernel.compiled else "",
                f"{kernel.from_disk:,}" if kernel.from_disk else "",
                milliseconds(kernel.compile_us),
                milliseconds(kernel.load_us),
                milliseconds(kernel.autotune_us),
            ],
            "waited": seconds(kernel.waited_us) if kernel.waited_us else "",
            "share": f"{100 * kernel.waited_us / longest:.1f}" if kernel.waited_us else "",
            "has_detail": number < DETAILED,
        }
        rows.append(row | (_detail(kernel, parameters.get(kernel.kernel, ()), source) if number < DETAILED else {}))
    return rows


def _detail(kernel: KernelAccount, parameters: Sequence[SeenParameter], source: SourceReader) -> dict[str, Any]:
    causes = causes_worth(kernel)
    return {
        "faults": list(describe_faults(kernel)),
        "causes": [
            {
                "text": describe_cause(cause),
                "waited": seconds(cause.waited_us) if cause.waited_us else "",
                "quote": cause.parameter and source.quote_parameter(kernel.kernel, cause.parameter),
            }
            for cause in causes
        ],
        "blamed": {cause.parameter for cause in causes},
        "parameters": parameters,
        "sites": [
            {"quote": source.quote(site.path, site.line), "text": f"in {site.function}: {describe_share(share)}"}
            for site, share in kernel.sites[:SITES_SHOWN]
        ],
    }


def _lists(account: Account, cwd: Path) -> list[tuple[str, list[str]]]:
    """Return the sections of lines, in the order of the page."""
    return [
        (title, list(lines))
        for title, lines in (
            ("tuning", describe_rounds(account)),
            ("steps and requests", describe_steps(account.steps)),
            ("ranks", describe_ranks(account.ranks)),
            ("torch.compile", describe_torch_compile(account, cwd)),
            ("guessed, for want of data", describe_guesses(account, cwd)),
            ("stopped, for want of data", describe_stops(account, cwd)),
            ("files and connections", describe_files(account)),
            ("the GPU that is not there", describe_pretended(account)),
        )
    ]


def _facts(account: Account) -> Iterator[tuple[str, list[str]]]:
    """Yield versions, GPUs, processes and variables."""
    if not account.processes:
        return
    headers = [process.header for process in account.processes]
    versions = {name: version for header in reversed(headers) for name, version in header.versions}
    yield "versions", [f"{name} {version}" for name, version in sorted(versions.items(), reverse=True)]
    yield "target", sorted({header.target for header in headers if header.target})
    yield (
        "GPUs",
        [
            f"{name}: {peak / 1024:.1f} of {whole / 1024:.1f} GiB in use at most, busy {percent:.0f}% of the time"
            for name, peak, whole, percent in (account.program.gpus if account.program else ())
        ],
    )
    yield "exit status", [str(account.program.status)] if account.program else []
    listed = [f"{name_process(process)}: {' '.join(process.header.command)}" for process in account.processes]
    more = len(listed) - PROCESSES_LISTED
    yield "processes", [*listed[:PROCESSES_LISTED], *([f"and {more:,} more"] if more > 0 else [])]
    yield "variables", sorted({f"{name}={value}" for header in headers for name, value in header.variables})
    yield "set while it ran", list(describe_cache_folder(account))


def _asset(name: str) -> Markup:
    return Markup((FOLDER / name).read_text(encoding="utf-8"))


def _as_script(value: object) -> Markup:
    """Return JSON that ends no script tag and opens no comment in it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))

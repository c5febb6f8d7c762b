"""An account for a terminal: what is loudest first, then where the time went, the kernels and their causes, advice."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from triton_doctor.evidence import advise
from triton_doctor.phrases import plural
from triton_doctor.report.recording.dry import (
    describe_files,
    describe_guesses,
    describe_never_reached,
    describe_pretended,
    describe_rounds,
    describe_stops,
)
from triton_doctor.report.recording.ranks import describe_ranks
from triton_doctor.report.recording.steps import describe_steps
from triton_doctor.report.recording.torch_compile import describe_torch_compile, of_inductor
from triton_doctor.report.recording.unserved import describe_unserved
from triton_doctor.report.recording.wording import (
    LEAST_SHOWN_US,
    causes_worth,
    counts_are_whole,
    describe_advice,
    describe_cache_folder,
    describe_captured,
    describe_cause,
    describe_counts,
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
    title_advice,
)
from triton_doctor.terminal import escape_line, escape_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from triton_doctor.report.recording.unserved import UnservedCompile
    from triton_doctor.runtime.account import Account
    from triton_doctor.runtime.kernel_account import KernelAccount

NARROWEST = 20
BOLD, ALARM, PLAIN = "\x1b[1m", "\x1b[1;31m", "\x1b[0m"
KERNELS_SHOWN, CAUSES_SHOWN, SITES_SHOWN, PROCESSES_SHOWN, ADVICE_SHOWN = 30, 4, 2, 16, 10
COLUMNS = ("launches", "in memory", "compiled", "from disk", "compile ms", "load ms", "tuned", "trials", "tune ms")


def render_text(
    account: Account,
    *,
    cwd: Path,
    color: bool,
    excess: Sequence[str] = (),
    width: int | None = None,
    unserved: Sequence[UnservedCompile] = (),
) -> str:
    """Render the whole report. `excess` has a line for each exceeded limit. `width` None means no wrapping."""
    lines: list[str] = ["", *_fit(_head(account), width)]
    loud = _fit(
        [*describe_interpreted(account), *describe_captured(account), *describe_variables(account), *excess], width
    )
    lines += [f"{ALARM}{line}{PLAIN}" if color else line for line in loud]
    settled = describe_settled(account)
    advice = (title_advice(account), _advice(account, cwd))
    is_dry = account.dry is not None
    lines += _fit([settled], width) if settled else []
    for title, body in (
        *([advice] if is_dry else []),
        ("where the time went", [] if is_dry else _time(account)),
        ("kernels", _kernels(account, cwd)),
        ("compiled, although packed", list(describe_unserved(unserved))),
        ("tuning", list(describe_rounds(account))),
        ("steps", describe_steps(account.steps)),
        ("guessed, for want of data", list(describe_guesses(account, cwd))),
        ("stopped, for want of data", list(describe_stops(account, cwd))),
        ("launched by the project, and never reached", list(describe_never_reached(account, cwd))),
        ("files and connections", list(describe_files(account))),
        ("the GPU that is not there", list(describe_pretended(account))),
        ("torch.compile", list(describe_torch_compile(account, cwd))),
        ("ranks", list(describe_ranks(account.ranks))),
        *([] if is_dry else [advice]),
        ("not seen", list(describe_unseen(account))),
    ):
        if body:
            lines += ["", f"{BOLD}{title}{PLAIN}" if color else title, *_fit((f"  {line}" for line in body), width)]
    return "\n".join(lines) + "\n"


def _fit(lines: Iterable[str], width: int | None) -> Iterator[str]:
    """Escape `lines`, and wrap those that are longer than `width`."""
    for line in map(escape_line, lines):
        if width is None or len(line) <= width:
            yield line.rstrip()
        else:
            indent = " " * (len(line) - len(line.lstrip()) + len("  "))
            yield from textwrap.wrap(line, max(width, NARROWEST), subsequent_indent=indent, break_on_hyphens=False)


def _head(account: Account) -> Iterator[str]:
    yield f"triton-doctor: {describe_counts(account)}; {seconds(account.wall_us)} in all"
    if account.processes:
        versions = {
            name: version for process in reversed(account.processes) for name, version in process.header.versions
        }
        yield ", ".join(f"{name} {version}" for name, version in sorted(versions.items(), reverse=True))
    for name, peak, whole, percent in account.program.gpus if account.program else ():
        yield f"{name}: {peak / 1024:.1f} of {whole / 1024:.1f} GiB in use at most, busy {percent:.0f}% of the time"
    yield from describe_cache_folder(account)


def _time(account: Account) -> list[str]:
    if len(account.processes) == 1:
        split = account.processes[0].split
        parts = [part for part in name_parts(split) if part[1] >= LEAST_SHOWN_US]
        whole = max(1, split.wall_us)
        return align([(name, seconds(us), f"{us / whole:.0%}") for name, us in parts])
    busy = [process for process in account.processes if not is_idle(process)] or account.processes[:1]
    shown = busy[:PROCESSES_SHOWN]
    columns = list(zip(*(name_parts(process.split) for process in shown), strict=True))
    kept = [column for column in columns if any(us >= LEAST_SHOWN_US for _, us in column)]
    rows = [("", *(column[0][0] for column in kept), "in all")] if shown else []
    for index, process in enumerate(shown):
        rows.append(
            (name_process(process), *(seconds(column[index][1]) for column in kept), seconds(process.split.wall_us))
        )
    more, idle = len(busy) - len(shown), len(account.processes) - len(busy)
    below = [f"and {plural(more, 'process')} more"] if more else []
    below += [f"and {plural(idle, 'process')} that compiled, loaded and tuned nothing"] if idle else []
    return [*align(rows), *below]


def _kernels(account: Account, cwd: Path) -> list[str]:
    inductors = of_inductor(account)
    kernels = [kernel for kernel in account.kernels if kernel not in inductors]
    shown = kernels[:KERNELS_SHOWN]
    rows = [("kernel", *(COLUMNS if account.dry is None else ("variants" if c == "compiled" else c for c in COLUMNS)))]
    least = "" if counts_are_whole(account) else ">= "
    rows += [
        (
            kernel.kernel.name,
            "not counted" if kernel.direct else f"{least}{kernel.launches:,}",
            "" if kernel.direct else f"{least}{kernel.in_memory:,}",
            f"{kernel.compiled:,}" if kernel.compiled else "",
            f"{kernel.from_disk:,}" if kernel.from_disk else "",
            milliseconds(kernel.compile_us),
            milliseconds(kernel.load_us),
            f"{kernel.autotune_rounds:,}" if kernel.autotune_rounds else "",
            f"{kernel.trials:,}" if kernel.trials else "",
            milliseconds(kernel.autotune_us),
        )
        for kernel in shown
    ]
    kept = [0, *(index for index in range(1, len(rows[0])) if any(row[index] for row in rows[1:]))]
    table = align([tuple(row[index] for index in kept) for row in rows]) if shown else []
    lines = table[:1]
    for kernel, row in zip(shown, table[1:], strict=True):
        lines += [row, *(f"    {line}" for line in _below(kernel, cwd))]
    more = len(kernels) - len(shown)
    return [*lines, *([f"and {plural(more, 'kernel')} more: --kernel chooses"] if more else [])]


def _below(kernel: KernelAccount, cwd: Path) -> Iterator[str]:
    yield from describe_faults(kernel)
    causes = causes_worth(kernel)
    for cause in causes[:CAUSES_SHOWN]:
        yield describe_cause(cause)
    if len(causes) > CAUSES_SHOWN:
        yield f"and {plural(len(causes) - CAUSES_SHOWN, 'cause')} more"
    if causes:
        for site, share in kernel.sites[:SITES_SHOWN]:
            yield f"launched at {place(site.path, site.line, cwd)} in {site.function}: {describe_share(share)}"


def _advice(account: Account, cwd: Path) -> list[str]:
    found = advise(account)[:ADVICE_SHOWN]
    width = max((len(describe_saved(advice)) for advice in found), default=0)
    return [
        line
        for advice in found
        for line in (
            f"{describe_saved(advice):>{width}}  {describe_advice(advice, cwd)}",
            f"{'':{width}}  {describe_rules(advice)}",
        )
    ]


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Format a table: the first column aligned to the left, the others to the right."""
    if not rows:
        return []
    rows = [[escape_text(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return [
        "  ".join(
            f"{cell:<{width}}" if index == 0 else f"{cell:>{width}}"
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]

"""An account as Markdown, for the summary of a CI job or a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.evidence import advise
from triton_doctor.report.markup import escape_markdown, table_lines
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
from triton_doctor.report.recording.wording import (
    PARTS,
    causes_worth,
    describe_advice,
    describe_captured,
    describe_cause,
    describe_faults,
    describe_interpreted,
    describe_rules,
    describe_saved,
    describe_settled,
    describe_unseen,
    describe_variables,
    milliseconds,
    name_parts,
    name_process,
    place,
    seconds,
    title_advice,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from triton_doctor.runtime.account import Account


def render_markdown(account: Account, *, cwd: Path) -> str:
    """Render `account` as headings, tables and lists."""
    loud = (*describe_interpreted(account), *describe_captured(account), *describe_variables(account))
    blocks = ["# triton-doctor", *(f"**{escape_markdown(line)}**" for line in loud)]
    settled = describe_settled(account)
    blocks += [settled] if settled else []
    advice = _list(
        title_advice(account),
        (
            f"{describe_saved(found)}: {describe_advice(found, cwd)} ({describe_rules(found)})"
            for found in advise(account)
        ),
    )
    blocks += ["## where the time went", _time(account)] if account.dry is None else advice
    if account.kernels:
        blocks += ["## kernels", _kernels(account, cwd)]
    blocks += _list("torch.compile", (line.strip() for line in describe_torch_compile(account, cwd)))
    blocks += _list("causes", _causes(account))
    blocks += _list("ranks", describe_ranks(account.ranks))
    blocks += _list("tuning", describe_rounds(account))
    blocks += _list("steps", (line.strip() for line in describe_steps(account.steps)))
    blocks += _list("guessed, for want of data", describe_guesses(account, cwd))
    blocks += _list("stopped, for want of data", describe_stops(account, cwd))
    blocks += _list("launched by the project, and never reached", describe_never_reached(account, cwd))
    blocks += _list("files and connections", describe_files(account))
    blocks += _list("the GPU that is not there", describe_pretended(account))
    blocks += advice if account.dry is None else []
    blocks += _list("not seen", describe_unseen(account))
    return "\n\n".join(blocks) + "\n"


def _time(account: Account) -> str:
    parts = [name_parts(process.split) for process in account.processes]
    shown = [index for index in range(len(PARTS)) if any(row[index][1] for row in parts)]
    head = ("process", *(PARTS[index] for index in shown), "in all")
    rows = [
        (name_process(process), *(seconds(row[index][1]) for index in shown), seconds(process.split.wall_us))
        for process, row in zip(account.processes, parts, strict=True)
    ]
    return _table(head, rows)


def _kernels(account: Account, cwd: Path) -> str:
    inductors = of_inductor(account)
    head = (
        "kernel",
        "where",
        "launches",
        "in memory",
        "compiled" if account.dry is None else "variants",
        "from disk",
        "ms compiling",
        "ms loading",
        "ms tuning",
    )
    rows = [
        (
            f"`{kernel.kernel.name}`",
            place(kernel.kernel.path, kernel.kernel.line, cwd),
            *(f"{count:,}" for count in (kernel.launches, kernel.in_memory, kernel.compiled)),
            f"{kernel.from_disk:,}" if kernel.from_disk else "",
            *(milliseconds(us) for us in (kernel.compile_us, kernel.load_us, kernel.autotune_us)),
        )
        for kernel in account.kernels
        if kernel not in inductors
    ]
    kept = [index for index in range(len(head)) if any(row[index] for row in rows)]
    return _table([head[index] for index in kept], [[row[index] for index in kept] for row in rows])


def _causes(account: Account) -> Iterable[str]:
    for kernel in account.kernels:
        for fault in describe_faults(kernel):
            yield f"`{kernel.kernel.name}`: {fault}"
        for cause in causes_worth(kernel):
            yield f"`{kernel.kernel.name}`: {describe_cause(cause)}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(table_lines((head, *rows), numbers=True))


def _list(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {escape_markdown(item)}" for item in items]
    return [f"## {title}", "\n".join(lines)] if lines else []

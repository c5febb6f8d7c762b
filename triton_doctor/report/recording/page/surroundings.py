"""The rest of the page: steps, ranks, torch.compile, the environment, and what was not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.report.recording.dry import tell_files, tell_guesses, tell_pretended, tell_rounds, tell_stops
from triton_doctor.report.recording.page.elements import Child, bullets, element, section
from triton_doctor.report.recording.ranks import tell_ranks
from triton_doctor.report.recording.steps import tell_steps
from triton_doctor.report.recording.torch_compile import tell_torch_compile
from triton_doctor.report.recording.wording import name_process, tell_cache_folder, tell_unseen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from triton_doctor.runtime.account import Account

PROCESSES_SHOWN = 16
NOT_MARKED = (
    "time between the launches of a kernel: launches are counted, not timed",
    "source lines are quoted as the files are on the machine that wrote this page",
)


def what_else(account: Account, cwd: Path) -> Iterator[Element]:
    """Sections of lines, those that have any."""
    for title, lines in (
        ("tuning", tell_rounds(account)),
        ("steps and requests", tell_steps(account.steps)),
        ("ranks", tell_ranks(account.ranks)),
        ("torch.compile", tell_torch_compile(account, cwd)),
        ("guessed, for want of data", tell_guesses(account, cwd)),
        ("stopped, for want of data", tell_stops(account, cwd)),
        ("files and connections", tell_files(account)),
        ("pretended", tell_pretended(account)),
    ):
        told = list(lines)
        if told:
            yield section(title, bullets(told))


def environment(account: Account) -> Element | None:
    """Versions, GPUs, processes and variables."""
    if not account.processes:
        return None
    versions = {name: version for one in reversed(account.processes) for name, version in one.header.versions}
    rows: list[tuple[str, Iterable[str]]] = [
        ("versions", (f"{name} {version}" for name, version in sorted(versions.items(), reverse=True))),
        ("target", sorted({one.header.target for one in account.processes if one.header.target})),
        (
            "GPUs",
            (
                f"{name}: {peak / 1024:.1f} of {whole / 1024:.1f} GiB in use at most, busy {percent:.0f}% of the time"
                for name, peak, whole, percent in (account.program.gpus if account.program else ())
            ),
        ),
        ("exit status", [str(account.program.status)] if account.program else []),
        ("processes", _processes(account)),
        (
            "variables",
            sorted({f"{name}={value}" for one in account.processes for name, value in one.header.variables}),
        ),
        ("set while it ran", tell_cache_folder(account)),
    ]
    told: list[Child] = []
    for name, values in rows:
        shown = list(values)
        if shown:
            told += [element("dt", name), element("dd", *(element("div", value) for value in shown))]
    return section("environment", element("dl", *told, class_="facts"))


def _processes(account: Account) -> Iterator[str]:
    for one in account.processes[:PROCESSES_SHOWN]:
        yield f"{name_process(one)}: {' '.join(one.header.command)}"
    if len(account.processes) > PROCESSES_SHOWN:
        yield f"and {len(account.processes) - PROCESSES_SHOWN:,} more"


def not_seen(account: Account) -> Element:
    """What nobody should read into the page."""
    return section("not seen", bullets((*tell_unseen(account), *NOT_MARKED)))

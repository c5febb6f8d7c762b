"""A machine and what is wrong with it, for a reader at a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from triton_doctor.finding import Severity
from triton_doctor.report.machine_facts import fact_rows, variable_rows
from triton_doctor.rulebook import rule_name
from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import MachineFinding
    from triton_doctor.machine.facts import Machine
    from triton_doctor.variables import Version

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
STYLES = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.INFO: "\x1b[1;36m"}
NARROWEST = 40


def text_lines(
    machine: Machine, findings: Sequence[MachineFinding], version: Version, *, color: bool, width: int
) -> Iterator[str]:
    """Facts, variables, findings, with a blank line between them. Commands are never broken, to be copied."""
    width = max(width, NARROWEST)
    rows = list(fact_rows(machine))
    labels = max(len(label) for label, _ in rows)
    for label, text in rows:
        yield from hang(f"{label:<{labels}}  ", text, width)
    yield ""
    settings = list(variable_rows(machine, version))
    if settings:
        title = f"variables, as triton {version} reads them"
        yield f"{BOLD}{title}{PLAIN}" if color else title
        for setting, text in settings:
            yield f"  {setting}"
            yield from hang("      ", text, width)
        yield ""
    for finding in findings:
        name = f"{finding.code} {rule_name(finding.code)}"
        yield (
            f"{STYLES[finding.severity]}{name}{PLAIN} ({finding.severity.label})"
            if color
            else (f"{name} ({finding.severity.label})")
        )
        yield from hang("  ", finding.message, width)
        yield from hang("  = note: ", finding.evidence, width)
        yield from hang("  = help: ", finding.remedy, width)
        if finding.command:
            yield f"  $ {escape_line(finding.command)}"
        yield ""


def hang(lead: str, text: str, width: int) -> list[str]:
    """`text` in lines of `width`, the first after `lead`, the others indented as far; long words are not broken."""
    return textwrap.wrap(
        escape_line(text),
        width,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )

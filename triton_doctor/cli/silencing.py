"""Comments in bulk: findings to files that say, at the lines that they concern, that they are known."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.cli.asides import print_message
from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.report.concise import plural
from triton_doctor.static.fix.write import Edited, write_all
from triton_doctor.static.suppression.add_ignore import add_ignores

if TYPE_CHECKING:
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.static.scan import Scan


def silence(result: Scan, reason: str, cwd: Path) -> Scan:
    """Add comments to the files, and give `result` with the findings that none can silence."""
    by_path: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in (found.original for found in result.findings):
        by_path[finding.path].append(finding)
    left: list[Finding] = []
    edited: dict[str, Edited] = {}
    changed: list[str] = []
    for shown, findings in by_path.items():
        # About a comment, or about a file that does not parse: another comment does not help.
        own = [finding for finding in findings if shown.endswith(".py") and not finding.code.startswith("TRD9")]
        left += [finding for finding in findings if finding not in own]
        if own:
            source = result.source_of(shown)
            if source is None:
                changed.append(shown)
                continue
            try:
                silenced, still = add_ignores(source, own, reason)
            except UnicodeEncodeError as error:
                letter = error.object[error.start]
                message = f"the encoding of {shown} has no `{letter}`"
                raise DoctorError(message, hint="give a plainer reason") from error
            left += still
            if silenced != source:
                edited[shown] = Edited(cwd / shown, source, silenced)
    changed += write(edited)
    for shown in changed:
        left += by_path[shown]
        print_message(f"{shown} changed while it was read, and is left as it is")
    unique = tuple(sorted(dict.fromkeys(left), key=lambda finding: finding.order))
    silenced_count, files = len(result.findings) - len(unique), len(edited.keys() - changed)
    print_message(f"{plural(silenced_count, 'finding')} silenced in {plural(files, 'file')}")
    return replace(result, findings=unique)


def write(edited: dict[str, Edited]) -> tuple[str, ...]:
    """Write the files; those that were left alone. Raises DoctorError for what cannot be written."""
    try:
        return write_all(edited, [])
    except OSError as error:
        message = f"{error.filename or 'a file'} cannot be written: {reason_of(error)}"
        raise DoctorError(message, hint="the files written before this one keep their edits") from error

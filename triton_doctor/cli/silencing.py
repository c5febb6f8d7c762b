"""Comments in bulk: findings to files that say, at the lines that they concern, that they are known."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.cli.asides import say
from triton_doctor.errors import DoctorError
from triton_doctor.report.concise import plural
from triton_doctor.static.ignoring import add_ignores

if TYPE_CHECKING:
    from triton_doctor.finding import Finding
    from triton_doctor.static.scan import Scan


def silence(result: Scan, reason: str, cwd: Path) -> Scan:
    """Add comments to the files, and give `result` with the findings that none can silence."""
    by_path: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in result.findings:
        by_path[finding.path].append(finding)
    left: list[Finding] = []
    written = 0
    for shown, findings in by_path.items():
        # About a comment, or about a file that does not parse: another comment does not help.
        own = [finding for finding in findings if shown.endswith(".py") and not finding.code.startswith("TRD9")]
        source = (cwd / shown).read_bytes() if own else b""
        try:
            silenced, still = add_ignores(source, own, reason)
        except UnicodeEncodeError as error:
            raise DoctorError(
                f"the encoding of {shown} has no `{error.object[error.start]}`", hint="a plainer reason"
            ) from error
        if silenced != source:
            replace_file(cwd / shown, silenced, before=source)
            written += 1
        left += [finding for finding in findings if finding not in own or finding in still]
    added = len(result.findings) - len(left)
    say(f"{plural(added, 'finding')} silenced in {plural(written, 'file')}")
    return replace(result, findings=tuple(sorted(left, key=lambda finding: finding.order)))


def replace_file(path: Path, data: bytes, *, before: bytes) -> None:
    """Put `data` in place of `before` at once, or not at all; a link still leads there, and the mode stays."""
    target = path.resolve()
    try:
        if target.read_bytes() != before:
            raise DoctorError(f"{path} changed while it was read", hint="run it again")
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).chmod(target.stat().st_mode & 0o7777)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DoctorError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from error

"""What a team needs to adopt `check`: a baseline, comments in bulk, changed files only, and the evidence of runs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from triton_doctor.evidence.weighing import Weighing
    from triton_doctor.finding import Finding
    from triton_doctor.settings import Settings
    from triton_doctor.static.baseline import Entry
    from triton_doctor.static.files import SourceFile
    from triton_doctor.static.scan import Scan

GONE_SHOWN = 10
LEFT_SHOWN = 10

BaselineOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Leave out the findings that FILE knows.", show_default="none"),
]
WriteBaselineOption = Annotated[
    bool, typer.Option("--write-baseline", help="Write all that is found to the baseline, and report nothing.")
]
AddIgnoreOption = Annotated[
    str | None,
    typer.Option(
        "--add-ignore",
        metavar="[=REASON]",
        help="Add a comment that silences each finding to its line, and report what is left.",
        show_default=False,
    ),
]
ChangedOption = Annotated[
    str | None,
    typer.Option(
        "--changed",
        metavar="[REV]",
        help="Findings in files that changed since REV only; HEAD where it is left out.",
        show_default=False,
    ),
]
RecordingOption = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE...", help="What `run -o` recorded, to confirm or clear findings.", show_default=False),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What was asked for. None where it was not; `changed` is the revision, `reason` that of the comments to add."""

    baseline: Path | None
    writes: bool
    reason: str | None
    changed: str | None
    recordings: tuple[Path, ...]


def adoption(
    settings: Settings,
    *,
    baseline: Path | None,
    write_baseline: bool,
    add_ignore: str | None,
    changed: str | None,
    recording: Sequence[Path],
    from_stdin: bool,
) -> Adoption:
    """The wishes of a command line over `settings`. Raises DoctorError for those that do not go together."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.static.baseline import DEFAULT_NAME
    from triton_doctor.static.changed import HEAD

    for wished, name in ((add_ignore is not None, "--add-ignore"), (changed is not None, "--changed")):
        if wished and from_stdin:
            raise DoctorError(f"{name} is about files, and - is stdin", hint="name the file")
        if wished and write_baseline:
            raise DoctorError(f"--write-baseline does not go with {name}", hint="a baseline holds all that is found")
    if write_baseline and from_stdin:
        raise DoctorError("--write-baseline is about files, and - is stdin", hint="name the file")
    if add_ignore is not None and not add_ignore.isprintable():
        raise DoctorError(
            "the reason of --add-ignore is more than one line", hint='--add-ignore="three lengths in all"'
        )
    file = baseline
    if file is None and settings.baseline is not None:
        file = settings.root / settings.baseline
    if file is None and write_baseline:
        file = Path(DEFAULT_NAME)
    return Adoption(
        baseline=file,
        writes=write_baseline,
        reason=add_ignore,
        changed=changed if changed is None else changed or HEAD,
        recordings=tuple(recording),
    )


def weighing(adoption: Adoption, cwd: Path) -> Weighing | None:
    """What weighs findings by the recordings that were asked for. Raises DoctorError for what is none."""
    if not adoption.recordings:
        return None
    from triton_doctor.evidence.weighing import Weighing
    from triton_doctor.runtime.recording import Recording

    return Weighing(recordings=Recording.read_each(adoption.recordings), cwd=cwd)


def tell_weighing(weighed: Weighing | None) -> None:
    """Say which kernels of the recordings were not found, where that may surprise."""
    if weighed is None:
        return
    if weighed.recorded and not weighed.known:
        say(f"none of the {weighed.recorded} kernels of the recordings is in the files that were read")
    for name in weighed.ambiguous:
        say(f"`{name}` of the recordings could be any of several kernels, and counts for none")


class KnownFindings:
    """The baseline of one run: what it knows is left out, or written."""

    def __init__(
        self, adoption: Adoption, files: Sequence[SourceFile], cwd: Path, lines_of: Callable[[str], Sequence[str]]
    ) -> None:
        from triton_doctor.static.baseline import Entries, read_baseline

        self._path = adoption.baseline
        self._writes = adoption.writes
        self._files = files
        if self._path is not None:
            there = self._path.exists() or not self._writes
            self._known = read_baseline(self._path) if there else None
            self._entries = Entries(self._path, cwd, lines_of)

    def leave_out(self, result: Scan, is_on: Callable[[str], bool]) -> Scan:
        """`result` without what is known; entries that no longer occur are told."""
        if self._path is None or self._known is None:
            return result
        from triton_doctor.report.concise import plural
        from triton_doctor.static.baseline import compare

        compared = compare(result.findings, self._known, self._entries, self._looked(is_on))
        if len(compared.new) < len(result.findings):
            left_out = len(result.findings) - len(compared.new)
            say(f"{plural(left_out, 'known finding')} left out by {self._path}")
        if compared.gone:
            count = len(compared.gone)
            say(f"{plural(count, 'entry', 'entries')} of {self._path} no longer found; --write-baseline drops them")
            for entry in compared.gone[:GONE_SHOWN]:
                say_more(tell_entry(entry))
            if count > GONE_SHOWN:
                say_more(f"and {count - GONE_SHOWN:,} more")
        return replace(result, findings=compared.new)

    def write(self, findings: Iterable[Finding], is_on: Callable[[str], bool]) -> None:
        """Make `findings` the known ones. Of files and rules that were not looked at, what was known stays known."""
        from triton_doctor.report.concise import plural
        from triton_doctor.static.baseline import write_baseline

        assert self._path is not None
        looked = self._looked(is_on)
        found = [self._entries.of(finding) for finding in findings]
        kept = [] if self._known is None else [entry for entry in self._known.elements() if not looked(entry)]
        write_baseline(self._path, [*found, *kept])
        say(f"{plural(len(found), 'finding')} written to {self._path}")

    def _looked(self, is_on: Callable[[str], bool]) -> Callable[[Entry], bool]:
        """Whether this run would have found an entry: it read the file, or nobody can, and looked for the rule."""
        read = {self._entries.path_of(file.shown) for file in self._files}
        return lambda entry: is_on(entry.code) and (entry.path in read or not self._entries.exists(entry))


def only_changed(result: Scan, changed: frozenset[str], cwd: Path) -> Scan:
    """`result` with the findings in the files `changed` alone."""
    kept = [finding for finding in result.findings if (cwd / finding.path).resolve().as_posix() in changed]
    return replace(result, findings=tuple(kept))


def silence(result: Scan, reason: str, cwd: Path) -> Scan:
    """Add comments to the files, and give `result` with the findings that none can silence."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.report.concise import plural
    from triton_doctor.static.ignoring import add_ignores

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
    import os
    import tempfile

    from triton_doctor.errors import DoctorError

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


def tell_entry(entry: Entry) -> str:
    """`TRD201 `bs` of `_triton_rope` in ops/rope.py`."""
    what = f" `{entry.parameter}`" if entry.parameter else ""
    of = f" of `{entry.kernel}`" if entry.kernel and what else f" `{entry.kernel}`" if entry.kernel else ""
    return f"{entry.code}{what}{of} in {entry.path}"


def say(text: str) -> None:
    """One line on stderr."""
    typer.echo(f"triton-doctor: {text}", err=True)


def say_more(text: str) -> None:
    """A line below it."""
    typer.echo(f"  {text}", err=True)
